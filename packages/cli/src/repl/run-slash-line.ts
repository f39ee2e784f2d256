import { nearestNames } from '@flotilla/protocol/nearest-name'
import type { CommandContext } from '../context.ts'
import { CommandFailed } from '../command-failed.ts'
import { requireAgent } from '../require-agent.ts'
import { interrupted, isInterrupted } from '../terminal/ask-line.ts'
import { formatError } from '../terminal/format-error.ts'
import { oneLine } from '../terminal/color.ts'
import type { Conversation } from './conversation.ts'
import { createRunTypedCommand } from './run-typed-command.ts'
import { slashCommands } from './slash-commands.ts'
import type { Steering } from './steering.ts'

const nearestShown = 2
const nameColumnsMax = 40

/** Runs one line that begins with a slash. Never rejects: errors are printed. */
export async function runSlashLine(
  context: CommandContext,
  talk: Conversation,
  {
    text,
    steering,
    streaming,
  }: { readonly text: string; readonly steering: Steering; readonly streaming: boolean },
): Promise<void> {
  const { terminal } = context
  const { client } = talk
  const [name = '', ...rest] = text.slice(1).split(/\s+/)
  const found = slashCommands.find((candidate) => candidate.name === name)
  try {
    if (!found) return terminal.print(unknownWords(name))
    await found.run({
      client,
      terminal,
      agentId: talk.agentId,
      session: {
        name: () => talk.session,
        change: (next) => {
          talk.session = next
          // While an answer streams, the prompt is redrawn now; otherwise after the command's output.
          if (streaming) talk.show()
        },
      },
      project: { name: () => talk.project, change: (next) => (talk.project = next) },
      lastRun: talk.lastRun,
      rest,
      say: steering.say,
      use: async (agentId) => {
        refuseWhile(streaming, 'You can switch to another agent only')
        await requireAgent(context, client, agentId)
        talk.agentId = agentId
      },
      requireAgent: (agentId) => requireAgent(context, client, agentId),
      run: (words, input) => createRunTypedCommand(context)(words, input),
      onInterrupt: (cancel) => {
        if (streaming) return () => undefined
        talk.interrupts.during(cancel)
        return () => talk.interrupts.during(null)
      },
      ask: async (question, isSecret) => {
        refuseWhile(streaming, 'This command asks for input, which is possible only')
        const answer = await talk.ask(question, isSecret)
        if (answer === null) throw interrupted()
        return answer
      },
    })
  } catch (error) {
    if (isInterrupted(error)) return terminal.note('', error.message)
    terminal.tell(formatError(error))
  }
}

function refuseWhile(streaming: boolean, what: string): void {
  if (!streaming) return
  throw new CommandFailed('answer-streams', {
    detail: `${what} while no answer is being written.`,
    repair: 'Type the command again after the answer; Ctrl-C cancels the answer.',
  })
}

function unknownWords(name: string): string {
  const nearest = nearestNames(
    name,
    slashCommands.map((command) => command.name),
    nearestShown,
  )
  const shown = nearest.map((one) => `/${one}`).join(' or ')
  return `There is no /${oneLine(name, nameColumnsMax)}. ${shown === '' ? '' : `Did you mean ${shown}? `}/help lists all commands.`
}
