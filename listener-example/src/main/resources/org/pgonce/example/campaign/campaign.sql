create table subscriber (
  id           bigint      primary key,
  address      text        not null,
  opted_out_at timestamptz
);

-- What has been sent: a lot that is run again skips it.
create table mail (
  campaign      text        not null,
  subscriber_id bigint      not null references subscriber,
  sent_at       timestamptz not null default clock_timestamp(),
  sent_by       text        not null default current_setting('application_name'),
  primary key (campaign, subscriber_id)
);
