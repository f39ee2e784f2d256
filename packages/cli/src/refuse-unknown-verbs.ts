import type { Command } from 'commander'

/**
 * A noun without a verb shows what there is of it. A word that is none of its verbs is a mistake and nothing else: commander
 * alone would hand it to the verb that stands in, or count it as one operand too many.
 */
export function refuseUnknownVerbs(program: Command): void {
  for (const group of program.commands) {
    // Those with operands of their own take any word: flotilla blackboard 'output/**'.
    if (group.commands.length === 0 || group.registeredArguments.length > 0) continue
    group.allowExcessArguments()
    group.hook('preSubcommand', () => refuse(group))
    group.hook('preAction', (_, acting) => {
      if (acting === group) refuse(group)
    })
  }
}

function refuse(group: Command): void {
  const [word] = group.args
  const verbs = group.commands.flatMap((verb) => [verb.name(), ...verb.aliases()])
  if (word === undefined || word.startsWith('-') || verbs.includes(word)) return
  group.error(`error: unknown command '${word}'\nflotilla ${group.name()} takes: ${verbs.join(', ')}.`)
}
