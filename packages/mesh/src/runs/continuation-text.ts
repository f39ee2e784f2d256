import { wireLimits } from '@flotilla/protocol/limits'
import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { InboxRow, RunNote } from './run-inbox.ts'

/** Result of one child as JSON, characters. */
const resultMaxChars = 20_000
const summaryMaxChars = 8000
const titleMaxChars = 200

/** The message of a continuation. Pure. */
export function continuationText(notes: readonly RunNote[]): PromptText {
  return joinPromptText(notes.map(noteText), '\n\n')
}

/** The first notes, as many as one message holds and one at least. Pure. */
export function notesForOneMessage(rows: readonly InboxRow[]): readonly InboxRow[] {
  const taken: InboxRow[] = []
  let chars = 0
  for (const row of rows) {
    chars += noteText(row.note).length + 2
    if (taken.length > 0 && chars > wireLimits.chatMessageMaxChars) break
    taken.push(row)
  }
  return taken
}

function noteText(note: RunNote): PromptText {
  const title = truncatePromptText(sanitizeForPrompt(note.title), titleMaxChars)
  switch (note.kind) {
    case 'task-result':
      return sanitizeForPrompt(
        [
          `Task ${note.taskId} "${title}", which you gave to ${note.assignee}, is ${note.state}.`,
          `Summary: ${truncatePromptText(sanitizeForPrompt(note.summary), summaryMaxChars)}`,
          ...(note.result === null
            ? []
            : [
                `Result (JSON): ${truncatePromptText(sanitizeForPrompt(JSON.stringify(note.result)), resultMaxChars)}`,
              ]),
        ].join('\n'),
      )
    case 'task-reminder':
      return sanitizeForPrompt(
        `Your turn ended, but task ${note.taskId} "${title}" is still open. Call complete_task now with what you found, or with status failed or blocked and the reason. If you end without it, the task fails.`,
      )
  }
}
