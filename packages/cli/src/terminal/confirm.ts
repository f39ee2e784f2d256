import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { askLine } from './ask-line.ts'

export interface Confirmation {
  /** The effect, for the error without a terminal: `reset removes X permanently`. */
  readonly what: string
  /** The question without the hint what to type: `Remove X permanently?`. */
  readonly question: string
  /** What has to be typed. */
  readonly answer: string
}

/** Asks the person to type the answer. Rejects without a terminal, or for any other answer, and says what to do. */
export async function confirmByTyping(context: CommandContext, confirmation: Confirmation): Promise<void> {
  const { terminal, input } = context
  if (input.isTTY !== true) {
    throw new CommandFailed('not-confirmed', {
      detail: `${confirmation.what}, and there is no terminal to confirm it at.`,
      repair: 'Add --yes.',
      exitCode: exitCodes.usage,
    })
  }
  const typed = await askLine(context, `${confirmation.question} Type ${confirmation.answer}: `)
  if (typed !== confirmation.answer) {
    throw new CommandFailed('not-confirmed', {
      detail: 'Nothing was changed.',
      repair: `Run the command again, and type ${confirmation.answer} when asked.`,
    })
  }
  terminal.note('')
}
