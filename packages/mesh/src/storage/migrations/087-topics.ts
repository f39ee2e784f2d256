import type { Migration } from '../migrate.ts'

/**
 * Topic subscriptions, signals, and unread signals. A signal is one row for all subscribers; `shown_*` name the run and
 * the call that delivered it.
 */
export const topicsMigration: Migration = {
  version: 87,
  name: 'topics',
  sql: `
    CREATE TABLE topic_subscriptions (
      agent_id TEXT NOT NULL,
      topic TEXT NOT NULL,
      subscribed_at INTEGER NOT NULL,
      PRIMARY KEY (agent_id, topic)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX topic_subscriptions_by_topic ON topic_subscriptions (topic, agent_id);
    CREATE TABLE topic_signals (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      topic TEXT NOT NULL,
      from_agent TEXT NOT NULL,
      text TEXT NOT NULL,
      data TEXT NOT NULL,
      said_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX topic_signals_by_topic ON topic_signals (topic, position);
    CREATE TABLE topic_unread (
      agent_id TEXT NOT NULL,
      position INTEGER NOT NULL REFERENCES topic_signals (position),
      shown_run TEXT,
      shown_key TEXT,
      shown_times INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (agent_id, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX topic_unread_by_signal ON topic_unread (position);
    CREATE INDEX topic_unread_by_run ON topic_unread (shown_run) WHERE shown_run IS NOT NULL;
  `,
}
