-- Between two pieces. %1$s is the table that the next one writes to. As a superuser: nobody else may empty pgonce's tables.
truncate %1$s, queue_by_hand, pgonce.notification, pgonce.delivery_key;
select pgonce_private.keep_padding();
