import { nearestName } from '@flotilla/protocol/nearest-name'
import { InvalidArgumentError } from 'commander'
import type { Argument, Command, Option } from 'commander'

/** Makes the error for a value that is not among the choices of an option or operand name the nearest choice. */
export function suggestChoices(command: Command): void {
  for (const child of command.commands) suggestChoices(child)
  for (const part of [...command.options, ...command.registeredArguments]) suggestFor(part)
}

function suggestFor(part: Option | Argument): void {
  const { argChoices: choices, parseArg } = part
  if (choices === undefined || parseArg === undefined) return
  part.argParser<unknown>((value, previous) => {
    try {
      return parseArg(value, previous)
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error
      const near = nearestName(value, choices)
      throw near === null ? error : new InvalidArgumentError(`${error.message}\n(Did you mean ${near}?)`)
    }
  })
}
