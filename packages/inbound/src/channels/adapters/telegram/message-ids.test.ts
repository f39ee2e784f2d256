import { expect, test } from 'vitest'
import { createMemoryMarks } from '../channel-marks.ts'
import { createTelegramIds } from './message-ids.ts'

// Sources: https://github.com/openclaw/openclaw/issues/80653 and https://github.com/openclaw/openclaw/issues/11969.
test('Telegram: a bot that replaces another has other ids for the same numbers, also after restarts', () => {
  const marks = createMemoryMarks()
  const first = createTelegramIds(marks, 777)
  expect(first.of(1000, 5)).toBe('1000:5')
  const second = createTelegramIds(marks, 888)
  expect(second.of(1000, 5)).toBe('1000:5@888')
  expect(createTelegramIds(marks, 888).of('1000', 5)).toBe('1000:5@888')
  expect(createTelegramIds(marks, 777).of(1000, 6)).toBe('1000:6')
  expect(second.numberIn('1000', '1000:5@888')).toBe(5)
  for (const foreign of ['1000:5', '1000:5@777', '2000:5@888', '1000:5@888 ', 'callback:5', ''])
    expect(second.numberIn('1000', foreign)).toBeNull()
  expect(first.numberIn('-2000', '-2000:7')).toBe(7)
  expect(first.numberIn('-2000', '-1002000:7')).toBeNull()
})
