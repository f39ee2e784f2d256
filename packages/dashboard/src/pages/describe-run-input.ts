import type { RunView } from '@flotilla/protocol/run'

/** Returns the input of a run in a few words: its message, task or tool call. */
export function describeRunInput({ input }: RunView): string {
  switch (input.kind) {
    case 'chat':
    case 'heartbeat':
      return input.message
    case 'task':
      return `Task ${input.task_id}`
    case 'tool':
      return `${input.tool} ${JSON.stringify(input.params)}`
  }
}
