import { agentIdSchema } from '@flotilla/protocol/ids'
import { expect, it } from 'vitest'
import { agentNameFault, agentNameOf, finishedName } from './agent-name.ts'

it.each([
  ['Not A Name', 'Not-A-Name'],
  ['research & writing', 'research-writing'],
  ['Übersetzer', 'Ubersetzer'],
  ['--_x', 'x'],
  ['my-agent_2', 'my-agent_2'],
  ['a/b.c', 'a-b-c'],
  ['日本', ''],
  ['x'.repeat(80), 'x'.repeat(64)],
])('the typed name %j becomes %j', (typed, name) => {
  expect(agentNameOf(typed)).toBe(name)
  if (name !== '') expect(agentIdSchema.safeParse(name).success).toBe(true)
})

it.each([
  ['My New Agent!', 'My-New-Agent'],
  ['scout - ', 'scout'],
  ['my-agent_', 'my-agent_'],
  ['scout', 'scout'],
  ['!', ''],
])('of the typed name %j, %j is left when the field is left', (typed, name) => {
  expect(finishedName(agentNameOf(typed))).toBe(name)
})

it('a name is refused if another agent has it', () => {
  expect(agentNameFault('scribe', ['scribe'])).toBe('There is an agent scribe already.')
  expect([agentNameFault('clerk', ['scribe']), agentNameFault('', ['scribe'])]).toEqual([null, null])
})
