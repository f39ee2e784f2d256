import { expect, it } from 'vitest'
import * as z from 'zod/mini'
import { oneKeySchema } from './browser-keys.ts'

const isPressed = (key: string) => z.safeParse(oneKeySchema, key).success

it.each([
  'Enter',
  'a',
  '+',
  'Control+A',
  'Control+Shift+V',
  'Shift++',
  'Alt',
  'ControlOrMeta+c',
  'ArrowDown',
])('the key %s is pressed', (key) => expect(isPressed(key)).toBe(true))

it.each(['Control+A+C', 'Control+C+V', 'a+b', 'a+', 'Tab+V', '', 'Control+', 'A+Control'])(
  'several keys at once (%j) are refused, because they could copy and paste in one action',
  (key) => expect(isPressed(key)).toBe(false),
)
