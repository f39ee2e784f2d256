import type { SlashCommand } from './slash-command.ts'

/** Names of the fleet that lines are completed with. */
export interface KnownNames {
  readonly agents: readonly string[]
  readonly projects: readonly string[]
}

/**
 * Returns the possible completions of the word at the cursor, and that word, in the form of readline: commands, their
 * verbs, agents and projects. Pure.
 */
export function completeLine(
  line: string,
  commands: readonly SlashCommand[],
  names: KnownNames,
): [string[], string] {
  const words = line.split(' ')
  const word = words.at(-1) ?? ''
  const beginning = (choices: readonly string[]) =>
    choices.filter((choice) => choice.startsWith(word)).map((choice) => `${choice} `)
  if (words.length === 1) {
    if (word.startsWith('@')) return [beginning(names.agents.map((name) => `@${name}`)), word]
    if (word.startsWith('/')) {
      return [beginning([...commands.map(({ name }) => `/${name}`), '/quit', '/exit']), word]
    }
    return [[], word]
  }
  const command = commands.find(({ name }) => words[0] === `/${name}`)
  if (command === undefined) return [[], word]
  if (words.length === 2 && command.verbs !== undefined) return [beginning(command.verbs), word]
  const isPlace = words.length === (command.verbs === undefined ? 2 : 3)
  if (!isPlace || command.takes === undefined) return [[], word]
  return [beginning(command.takes === 'agent' ? names.agents : names.projects), word]
}
