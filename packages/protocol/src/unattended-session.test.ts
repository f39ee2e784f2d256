import { expect, test } from 'vitest'
import { isUnattended, unattendedSession } from './unattended-session.ts'

test('each conversation without people is known by its name, and those of people are not', () => {
  const names = Object.values(unattendedSession).map((nameOf) => nameOf('x1'))
  expect(names).toEqual(['webhook:x1', 'watch-x1', 'blackboard-x1', 'agent:x1'])
  expect(names.every(isUnattended)).toBe(true)
  expect(['default', 'telegram:12', 'my-webhook:x', 'Agent:x', ''].filter(isUnattended)).toEqual([])
})
