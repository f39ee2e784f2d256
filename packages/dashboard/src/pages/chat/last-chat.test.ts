import { expect, it } from 'vitest'
import { pathOfKept } from './last-chat.ts'

it.each([
  ['{"agent":"scribe","session":null}', '/chat/scribe'],
  ['{"agent":"scribe","session":"task:task_1 a"}', '/chat/scribe?session=task%3Atask_1%20a'],
  ['{"agent":"deleted","session":null}', null],
  ['{"session":"dashboard"}', null],
  ['null', null],
  ['', null],
])('the conversation that was open last, kept as %s, is at %s', (text, path) => {
  expect(pathOfKept(text, ['operator', 'scribe'])).toBe(path)
})
