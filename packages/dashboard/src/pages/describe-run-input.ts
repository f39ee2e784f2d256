import type { RunView } from '@flotilla/protocol/run'
import { describeHeartbeatMessage } from './run/heartbeat-message.ts'

/** Returns the input of a run in a few words: its message, task or tool call. */
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
