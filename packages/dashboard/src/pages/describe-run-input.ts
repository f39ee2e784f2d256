import { wordsOfMessage } from '@flotilla/protocol/chat-attachments'
import { describeWebhookMessage } from '@flotilla/protocol/webhook-message'
import type { RunView } from '@flotilla/protocol/run'
import { stripMarkdown } from '../data/strip-markdown.ts'
import { describeHeartbeatMessage } from './run/heartbeat-message.ts'

/** Returns the whole input of a run: its message, task or tool call. */
export function describeRunInput({ input }: RunView): string {
  switch (input.kind) {
    case 'chat':
      return input.message
    case 'heartbeat':
      return describeHeartbeatMessage(input.message)
    case 'task':
      return `Task ${input.task_id}`
    case 'tool':
      return `${input.tool} ${JSON.stringify(input.params)}`
  }
}

/** Returns the input of a run in one line, without the mesh's words around an event and without the list of files. Pure. */
export function titleOfRun(run: RunView): string {
  const words = describeRunInput(run)
  const event = run.origin.kind === 'webhook' ? describeWebhookMessage(words) : null
  return (event ?? (run.input.kind === 'chat' ? stripMarkdown(wordsOfMessage(words)) : words))
    .replaceAll(/\s+/g, ' ')
    .trim()
}
