-- What the triggers have stored: by hand, and through pgonce, without its padding rows.
select (select count(*) from queue_by_hand), (select count(*) from pgonce.notification where subscription_id > 0);
