import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The verdict of the giver of a task, as the mesh passes it on. */
export interface Feedback {
  /** A number that rises with each feedback; feedback up to the recorded position is not recorded again. */
  readonly position: number
  readonly taskId: string
  readonly title: string
  readonly outcome: string
  readonly comment: string
  readonly by: string
}

/** Resolves to all feedback, oldest first; empty without a file. Only the mesh can write it; invalid JSON rejects. */
export type ReadFeedback = () => Promise<readonly Feedback[]>

export function createReadFeedback(briefingDirectory: string): ReadFeedback {
  return async () => {
    const text = await readFile(join(briefingDirectory, 'feedback.json'), 'utf8').catch(() => '[]')
    const rows: unknown = JSON.parse(text)
    return Array.isArray(rows) ? rows.flatMap(feedbackOf) : []
  }
}

function feedbackOf(row: unknown): Feedback[] {
  if (!isJsonObject(row) || typeof row['position'] !== 'number') return []
  const text = (name: string): string => (typeof row[name] === 'string' ? row[name] : '')
  const taskId = text('taskId')
  if (taskId === '') return []
  const feedback = {
    title: text('title'),
    outcome: text('outcome'),
    comment: text('comment'),
    by: text('by'),
  }
  return [{ position: row['position'], taskId, ...feedback }]
}
