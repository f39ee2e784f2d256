import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addWorkerOptions } from './create.ts'

function optionsOf(...words: string[]): Record<string, unknown> {
  const command = addWorkerOptions(new Command('add'))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
  return command.parse(words, { from: 'user' }).opts()
}

test.each([
  ['--daily', '0.001', '0.01 to 1000'],
  ['--daily', '1001', '0.01 to 1000'],
  ['--daily', 'two', '0.01 to 1000'],
  ['--daily', '', '0.01 to 1000'],
  ['--monthly', '0.01', '0.1 to 30000'],
  ['--monthly', '-1', '0.1 to 30000'],
])('%s %j is refused by the name of the option, with the range', (option, amount, range) => {
  expect(() => optionsOf(`${option}=${amount}`)).toThrow(
    `option '${option} <usd>' argument '${amount}' is invalid`,
  )
  expect(() => optionsOf(`${option}=${amount}`)).toThrow(`US dollars from ${range}`)
})

test('a budget within the range is read', () => {
  expect(optionsOf('--daily', '0.01', '--monthly', '30000')).toMatchObject({ daily: 0.01, monthly: 30_000 })
})
