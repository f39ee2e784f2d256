import { expect, it } from 'vitest'
import { CommandFailed } from './command-failed.ts'
import { readEnvironment } from './environment.ts'
import { keepText } from './fake-terminal.ts'
import { printError } from './print-error.ts'

it.each([
  ['npx flotilla', 'npx', 'Start it: npx flotilla start -d'],
  ['npm run flotilla --', 'flotilla', 'Start it: npm run flotilla -- start -d'],
  // A user's script that calls the installed program.
  ['flotilla', 'their-script', 'Start it: flotilla start -d'],
])(
  'an error names commands as a person who called the program by %s types them',
  (_command, event, expected) => {
    const err = keepText()
    const environment = readEnvironment({ HOME: '/home/nobody', npm_lifecycle_event: event })
    const error = new CommandFailed('none', { detail: 'None.', repair: 'Start it: flotilla start -d' })
    printError(error, { err, environment, interrupted: false })
    expect(err.text()).toContain(expected)
  },
)

it('an error names them by the path of the program where the PATH does not find it', () => {
  const err = keepText()
  const environment = readEnvironment({ HOME: '/home/nobody', FLOTILLA_CALLED_AS: 'bin/flotilla' })
  const error = new CommandFailed('none', { detail: 'None; flotilla status says so.', repair: 'None.' })
  printError(error, { err, environment, interrupted: false })
  expect(err.text()).toContain('None; bin/flotilla status says so.')
  expect(environment.childEnvironment({})).not.toHaveProperty('FLOTILLA_CALLED_AS')
})
