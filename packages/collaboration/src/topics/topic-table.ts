import { jsonValueSchema } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import type { SignalView } from '@flotilla/protocol/topics-api'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn, readRows } from '@flotilla/foundation/storage'

export interface UnreadSignal extends SignalView {
  /** The position among all signals. */
  readonly position: number
}

const rowSchema = z
  .object({
    position: z.number(),
    id: z.string(),
    topic: z.string(),
    from_agent: z.string(),
    text: z.string(),
    data: jsonColumn(jsonValueSchema),
    said_at: z.number(),
  })
  .transform(({ from_agent: from, said_at: at, ...row }): UnreadSignal => ({ ...row, from, at }))

const columns = 's.position, s.id, s.topic, s.from_agent, s.text, s.data, s.said_at'
const unreadFrom = 'FROM topic_unread AS u JOIN topic_signals AS s ON s.position = u.position'

export type TopicTable = ReturnType<typeof createTopicTable>

/** Reads and writes the rows of topics; callers make the decisions. */
export function createTopicTable(database: Database) {
  const { many: signals, count } = readRows(database, rowSchema)
  const texts = (sql: string, name: string, ...values: string[]): string[] =>
    database
      .prepare(sql)
      .all(...values)
      .map((row) => String(row[name]))

  return {
    subscribe: (agentId: string, topic: string, now: number): boolean =>
      database.prepare('INSERT OR IGNORE INTO topic_subscriptions VALUES (?, ?, ?)').run(agentId, topic, now)
        .changes === 1,
    unsubscribe: (agentId: string, topic: string): boolean =>
      database.prepare('DELETE FROM topic_subscriptions WHERE agent_id = ? AND topic = ?').run(agentId, topic)
        .changes === 1,
    topicsOf: (agentId: string): string[] =>
      texts('SELECT topic FROM topic_subscriptions WHERE agent_id = ? ORDER BY topic', 'topic', agentId),
    subscribersOf: (topic: string): string[] =>
      texts('SELECT agent_id FROM topic_subscriptions WHERE topic = ? ORDER BY agent_id', 'agent_id', topic),
    isSubscribedTo: (topic: string): boolean =>
      count('SELECT count(*) AS count FROM topic_subscriptions WHERE topic = ?', topic) > 0,
    topicCount: (): number => count('SELECT count(DISTINCT topic) AS count FROM topic_subscriptions'),
    topics: (): string[] =>
      texts(
        'SELECT topic FROM topic_subscriptions UNION SELECT topic FROM topic_signals ORDER BY topic',
        'topic',
      ),
    signalsOn: (topic: string): { readonly count: number; readonly lastAt: number | null } => {
      const row = database
        .prepare('SELECT count(*) AS count, max(said_at) AS last FROM topic_signals WHERE topic = ?')
        .get(topic)
      return {
        count: Number(row?.['count'] ?? 0),
        lastAt: row?.['last'] == null ? null : Number(row['last']),
      }
    },

    /** Returns the position. */
    insert: (signal: SignalView): number =>
      Number(
        database
          .prepare(
            'INSERT INTO topic_signals (id, topic, from_agent, text, data, said_at) VALUES (?, ?, ?, ?, ?, ?)',
          )
          .run(signal.id, signal.topic, signal.from, signal.text, JSON.stringify(signal.data), signal.at)
          .lastInsertRowid,
      ),
    deliver: (agentId: string, position: number): void => {
      database.prepare('INSERT INTO topic_unread (agent_id, position) VALUES (?, ?)').run(agentId, position)
    },
    unreadCount: (agentId: string): number =>
      count('SELECT count(*) AS count FROM topic_unread WHERE agent_id = ?', agentId),
    unreadCountFrom: (agentId: string, from: string): number =>
      count(
        `SELECT count(*) AS count ${unreadFrom} WHERE u.agent_id = ? AND s.from_agent = ?`,
        agentId,
        from,
      ),
    newestUnread: (agentId: string, limit: number) =>
      signals(
        `SELECT ${columns} ${unreadFrom} WHERE u.agent_id = ? ORDER BY u.position DESC LIMIT ?`,
        agentId,
        limit,
      ),
    newestOn: (topic: string, limit: number) =>
      signals(
        `SELECT ${columns} FROM topic_signals AS s WHERE s.topic = ? ORDER BY s.position DESC LIMIT ?`,
        topic,
        limit,
      ),
    /** Returns the signals that an earlier request with the same key received in this run. */
    shownBy: (agentId: string, runId: string, key: string) =>
      signals(
        `SELECT ${columns} ${unreadFrom} WHERE u.agent_id = ? AND u.shown_run = ? AND u.shown_key = ? ORDER BY u.position`,
        agentId,
        runId,
        key,
      ),
    /** Returns unread signals that the run has not received yet, oldest first. */
    unshown: (agentId: string, runId: string, limit: number) =>
      signals(
        `SELECT ${columns} ${unreadFrom} WHERE u.agent_id = ? AND u.shown_run IS NOT ? ORDER BY u.position LIMIT ?`,
        agentId,
        runId,
        limit,
      ),
    unshownCount: (agentId: string, runId: string): number =>
      count(
        'SELECT count(*) AS count FROM topic_unread WHERE agent_id = ? AND shown_run IS NOT ?',
        agentId,
        runId,
      ),
    show: (agentId: string, position: number, by: { readonly runId: string; readonly key: string }): void => {
      database
        .prepare(
          'UPDATE topic_unread SET shown_run = ?, shown_key = ?, shown_times = shown_times + 1 WHERE agent_id = ? AND position = ?',
        )
        .run(by.runId, by.key, agentId, position)
    },
    /** Marks a run's signals as read; after a failed run only signals that `shownTimesMin` runs have received. */
    readBy: (runId: string, shownTimesMin: number): void => {
      database
        .prepare('DELETE FROM topic_unread WHERE shown_run = ? AND shown_times >= ?')
        .run(runId, shownTimesMin)
    },
    forgetAgent: (agentId: string): void => {
      database.prepare('DELETE FROM topic_subscriptions WHERE agent_id = ?').run(agentId)
      database.prepare('DELETE FROM topic_unread WHERE agent_id = ?').run(agentId)
    },
    /** Deletes that topic and all topics below the topic, with their subscriptions, signals and unread marks. */
    forgetBelow: (topic: string): void => {
      const below = "(topic = :topic OR substr(topic, 1, length(:topic) + 1) = :topic || '/')"
      for (const sql of [
        `DELETE FROM topic_subscriptions WHERE ${below}`,
        `DELETE FROM topic_unread WHERE position IN (SELECT position FROM topic_signals WHERE ${below})`,
        `DELETE FROM topic_signals WHERE ${below}`,
      ])
        database.prepare(sql).run({ topic })
    },
    /**
     * Deletes signals that all subscribers have read and that are older than `before` or beyond the newest `keptMax`.
     */
    sweep: (before: number, keptMax: number): number =>
      Number(
        database
          .prepare(
            'DELETE FROM topic_signals WHERE (said_at < ? OR position <= (SELECT max(position) FROM topic_signals) - ?) AND NOT EXISTS (SELECT 1 FROM topic_unread AS u WHERE u.position = topic_signals.position)',
          )
          .run(before, keptMax).changes,
      ),
  }
}
