import { closeSync, openSync, writeSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemCodeOf } from './system-error-code.ts'

test.each([
  [-122, 'EDQUOT'],
  [-116, 'ESTALE'],
  [-117, 'EUCLEAN'],
  [-4094, 'UNKNOWN'],
])('an error that Node names UNKNOWN with the number %i is %s', (errno, name) => {
  expect(systemCodeOf(Object.assign(new Error('UNKNOWN'), { code: 'UNKNOWN', errno }))).toBe(name)
})

test('an error of the system keeps the name that Node gives it, and others have none', () => {
  const file = openSync('/dev/full', 'w')
  try {
    writeSync(file, 'x')
    expect.unreachable()
  } catch (error) {
    expect(systemCodeOf(error)).toBe('ENOSPC')
  } finally {
    closeSync(file)
  }
  expect(systemCodeOf(new Error('plain'))).toBe('')
  expect(systemCodeOf('text')).toBe('')
})
