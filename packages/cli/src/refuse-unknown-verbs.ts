import { nearestName } from '@flotilla/protocol/nearest-name'
import type { Command } from 'commander'

/**
 * Names of these commands in other programs. They are spelled so differently that a search for similar names misses
 * them.
 */
const calledElsewhere: Readonly<Record<string, string>> = {
  unpause: 'resume',
  continue: 'resume',
  ps: 'agents',
  ls: 'agents',
  list: 'agents',
  rm: 'delete',
  remove: 'delete',
  update: 'upgrade',
  down: 'stop',
  up: 'start',
}

/** Makes the error for an unknown command name Flotilla's command if another program uses the typed name. */
export function nameOurWord(program: Command, meant: string | null): void {
  const ours = meant === null || !Object.hasOwn(calledElsewhere, meant) ? undefined : calledElsewhere[meant]
  if (ours === undefined) return
  program.on('command:*', () =>
    program.error(`error: unknown command '${meant}'\nUse: flotilla ${ours}`, {
      code: 'commander.unknownCommand',
    }),
  )
}

/**
 * Rejects unknown verbs. A noun without a verb lists its objects; without this check, commander would pass an unknown
 * verb to that default command, or report one operand too many.
 */
export function refuseUnknownVerbs(program: Command): void {
  for (const group of program.commands) {
    // Commands with operands accept any word: flotilla blackboard 'output/**'.
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
  const meant = nearestName(word, verbs)
  const question = meant === null ? '' : `\n(Did you mean ${meant}?)`
  group.error(
    `error: unknown command '${word}'${question}\nflotilla ${group.name()} takes: ${verbs.join(', ')}.`,
  )
}
