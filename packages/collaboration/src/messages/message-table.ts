import { messageStates } from '@flotilla/protocol/message-api'
import { terminalRunStates } from '@flotilla/protocol/run'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn, readRows } from '@flotilla/foundation/storage'

const answerSchema = z.object({ state: z.enum(terminalRunStates), text: z.string() })
const rowSchema = z.object({
  id: z.string(),
  sender: z.string(),
  recipient: z.string(),
  capability: z.string().nullable(),
  text: z.string(),
  asking_run_id: z.string(),
  root_run_id: z.string(),
  run_id: z.string().nullable(),
  idempotency_key: z.string().nullable(),
  state: z.enum(messageStates),
  answer: jsonColumn(answerSchema).nullable(),
  created_at: z.number(),
  answered_at: z.number().nullable(),
})
/** A message as stored. `root_run_id` is the run that started the whole chain. */
export type MessageRecord = Readonly<z.infer<typeof rowSchema>>

const columns =
  'id, sender, recipient, capability, text, asking_run_id, root_run_id, run_id, idempotency_key, state, answer, created_at, answered_at'
const waitsForHeartbeat = "recipient = ? AND state = 'kept' AND run_id IS NULL"

export type MessageTable = ReturnType<typeof createMessageTable>

export function createMessageTable(database: Database) {
  const { many, count } = readRows(database, rowSchema)

  return {
    insert: (message: MessageRecord): void => {
      database
        .prepare(
          'INSERT INTO messages (id, sender, recipient, capability, text, asking_run_id, root_run_id, run_id, idempotency_key, state, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        )
        .run(
          message.id,
          message.sender,
          message.recipient,
          message.capability,
          message.text,
          message.asking_run_id,
          message.root_run_id,
          message.run_id,
          message.idempotency_key,
          message.state,
          message.created_at,
        )
    },
    find: (id: string): MessageRecord | null =>
      many(`SELECT ${columns} FROM messages WHERE id = ?`, id)[0] ?? null,
    findByKey: (sender: string, askingRunId: string, key: string): MessageRecord | null =>
      many(
        `SELECT ${columns} FROM messages WHERE sender = ? AND asking_run_id = ? AND idempotency_key = ?`,
        sender,
        askingRunId,
        key,
      )[0] ?? null,
    /** Returns the message that this run answers; null if the run answers no message. */
    sentTo: (runId: string): MessageRecord | null =>
      many(`SELECT ${columns} FROM messages WHERE run_id = ? AND state = 'sent'`, runId)[0] ?? null,
    answer: (id: string, answer: z.infer<typeof answerSchema>, at: number): void => {
      database
        .prepare(
          "UPDATE messages SET state = 'answered', answer = ?, answered_at = ? WHERE id = ? AND state = 'sent'",
        )
        .run(JSON.stringify(answer), at, id)
    },
    /** Ids of the messages of this run that are still being answered. */
    openOf: (askingRunId: string): readonly string[] =>
      database
        .prepare("SELECT id FROM messages WHERE asking_run_id = ? AND state = 'sent' ORDER BY position")
        .all(askingRunId)
        .map((row) => String(row['id'])),
    countOfRun: (askingRunId: string) =>
      count('SELECT count(*) AS count FROM messages WHERE asking_run_id = ?', askingRunId),
    countOfRoot: (rootRunId: string) =>
      count('SELECT count(*) AS count FROM messages WHERE root_run_id = ?', rootRunId),
    keptCount: (recipient: string) =>
      count(`SELECT count(*) AS count FROM messages WHERE ${waitsForHeartbeat}`, recipient),
    keptCountOf: (sender: string, recipient: string) =>
      count(
        `SELECT count(*) AS count FROM messages WHERE sender = ? AND ${waitsForHeartbeat}`,
        sender,
        recipient,
      ),
    /** Returns messages to this recipient that no heartbeat has listed yet, oldest first. */
    keptOf: (recipient: string, limit: number) =>
      many(
        `SELECT ${columns} FROM messages WHERE ${waitsForHeartbeat} ORDER BY position LIMIT ?`,
        recipient,
        limit,
      ),
    toldBy: (id: string, runId: string): void => {
      database
        .prepare("UPDATE messages SET run_id = ? WHERE id = ? AND state = 'kept' AND run_id IS NULL")
        .run(runId, id)
    },
    /** Messages, newest first. */
    list: ({ agentId, limit }: { readonly agentId?: string | undefined; readonly limit: number }) =>
      agentId === undefined
        ? many(`SELECT ${columns} FROM messages ORDER BY position DESC LIMIT ?`, limit)
        : many(
            `SELECT ${columns} FROM messages WHERE sender = ? OR recipient = ? ORDER BY position DESC LIMIT ?`,
            agentId,
            agentId,
            limit,
          ),
    countByState: (): Readonly<Record<string, number>> =>
      Object.fromEntries(
        database
          .prepare('SELECT state, count(*) AS count FROM messages GROUP BY state')
          .all()
          .map((row) => [String(row['state']), Number(row['count'])]),
      ),
    /** Keeps the newest `kept` messages among those that are finished and delivered. */
    trim: (kept: number): void => {
      database
        .prepare(
          "DELETE FROM messages WHERE position <= (SELECT max(position) FROM messages) - ? AND (state = 'answered' OR (state = 'kept' AND run_id IS NOT NULL))",
        )
        .run(kept)
    },
  }
}
