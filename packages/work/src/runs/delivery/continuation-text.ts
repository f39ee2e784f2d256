import type { JsonObject } from '@flotilla/protocol/json-value'
import { wireLimits } from '@flotilla/protocol/limits'
import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { InboxRow, RunNote } from '../ledger/run-inbox.ts'

/** Maximum length of one child's result as JSON, characters. */
const resultMaxChars = 20_000
const summaryMaxChars = 8000
const titleMaxChars = 200
const ownTaskMaxChars = 10_000
/** Maximum length of all notes in one message, so that the run's own task fits too. */
const notesMaxChars = wireLimits.chatMessageMaxChars - ownTaskMaxChars - 1000

/** The task that a run works on; its later turns get the task again. */
interface OwnTask {
  readonly taskId: string
  readonly inputData: JsonObject
}

/** Returns the message of a continued run. It repeats the run's task, which a later turn may not contain. Pure. */
export function continuationText(notes: readonly RunNote[], own: OwnTask | null): PromptText {
  return joinPromptText([...notes.map(noteText), ...(own ? [ownTaskText(own)] : [])], '\n\n')
}

function ownTaskText({ taskId, inputData }: OwnTask): PromptText {
  const input = truncatePromptText(sanitizeForPrompt(JSON.stringify(inputData)), ownTaskMaxChars)
  return sanitizeForPrompt(
    `You work on your own task ${taskId}: ${input}\nWhen it is done, call complete_task with task_id ${taskId}.`,
  )
}

/** Returns the first notes that fit into one message, at least one. Pure. */
export function notesForOneMessage(rows: readonly InboxRow[]): readonly InboxRow[] {
  const taken: InboxRow[] = []
  let chars = 0
  for (const row of rows) {
    chars += noteText(row.note).length + 2
    if (taken.length > 0 && chars > notesMaxChars) break
    taken.push(row)
  }
  return taken
}

function noteText(note: RunNote): PromptText {
  switch (note.kind) {
    case 'task-result':
      return sanitizeForPrompt(
        [
          `Task ${note.taskId} "${titleOf(note.title)}", which you gave to ${note.assignee}, is ${note.state}.`,
          `Summary: ${truncatePromptText(sanitizeForPrompt(note.summary), summaryMaxChars)}`,
          ...(note.result === null
            ? []
            : [
                `Result (JSON): ${truncatePromptText(sanitizeForPrompt(JSON.stringify(note.result)), resultMaxChars)}`,
              ]),
        ].join('\n'),
      )
    case 'approval-outcome':
      return sanitizeForPrompt(
        `What you asked a person for (${note.approvalId}: ${titleOf(note.summary)}) is ${note.state}. ${truncatePromptText(sanitizeForPrompt(note.detail), summaryMaxChars)}`,
      )
    case 'task-reminder':
      return sanitizeForPrompt(
        `Your turn ended, but task ${note.taskId} "${titleOf(note.title)}" is still open. Call complete_task now with what you found, or with status failed or blocked and the reason. If you end without it, your last words are given to the requester as an unconfirmed result.`,
      )
    case 'message-answer':
      return sanitizeForPrompt(
        [
          `Your message to ${note.agent} ("${titleOf(note.said)}") is answered (${note.state}).`,
          `Answer: ${truncatePromptText(sanitizeForPrompt(note.text), summaryMaxChars)}`,
        ].join('\n'),
      )
    case 'browser-returned':
      return sanitizeForPrompt(browserText(note))
    case 'steer-answer':
      return sanitizeForPrompt(
        [
          `Your message to ${note.agent} ("${titleOf(note.said)}") arrived after its run had ended, and was answered in a separate run (${note.state}).`,
          `Answer: ${truncatePromptText(sanitizeForPrompt(note.text), summaryMaxChars)}`,
        ].join('\n'),
      )
  }
}

function titleOf(text: string): PromptText {
  return truncatePromptText(sanitizeForPrompt(text), titleMaxChars)
}

/** Describes a page of the browser. Page titles are untrusted, and the text marks them as such. */
function browserText({ how, before, after, at }: Extract<RunNote, { kind: 'browser-returned' }>): string {
  const sentence = {
    returned: 'The person has given your browser back to you.',
    solved: 'The CAPTCHA was solved for you; send the form, or continue.',
    expired:
      'No person came to help with the page in your browser. Continue without the page, or tell the person or agent that gave you the work.',
    lost: 'Your browser was closed meanwhile; its tabs come back with your next use of it.',
  }[how]
  const shown = (page: typeof before) =>
    `${page.url === '' ? 'no page' : page.url} (title, by the page: "${titleOf(page.title)}")`
  const now = after === null ? '' : ` It shows ${shown(after)} now.`
  // The time makes messages about one page distinct; the agent would treat an equal message as the same turn.
  const when = at === null ? '' : ` (${new Date(at).toISOString()})`
  return `${sentence}${when} It showed ${shown(before)} before.${now} Take a snapshot before you go on.`
}
