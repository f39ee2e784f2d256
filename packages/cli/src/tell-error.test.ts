import { expect, it } from 'vitest'
import { CommandFailed } from './command-failed.ts'
import { readEnvironment } from './environment.ts'
import { keepText } from './fake-terminal.ts'
import { asTyped, tellError } from './tell-error.ts'

it.each([
  ['npx flotilla', 'npx', 'Start it: npx flotilla start -d'],
  ['npm run flotilla --', 'flotilla', 'Start it: npm run flotilla -- start -d'],
  // A script of somebody's that calls the installed program.
  ['flotilla', 'their-script', 'Start it: flotilla start -d'],
])('names commands as somebody types them who called it by %s', (_command, event, expected) => {
  const err = keepText()
  const environment = readEnvironment({ HOME: '/home/nobody', npm_lifecycle_event: event })
  const error = new CommandFailed('none', { detail: 'None.', repair: 'Start it: flotilla start -d' })
  tellError(error, { err, environment, interrupted: false })
  expect(err.text()).toContain(expected)
})

it('leaves what is no command, and what has been said so already', () => {
  const said = 'See /opt/flotilla data, npx flotilla start, journalctl -u flotilla, flotilla COMMAND --help.'
  expect(asTyped(said, 'npx flotilla')).toBe(said)
  expect(asTyped('flotilla cron list shows them', 'flotilla')).toBe('flotilla cron list shows them')
})
