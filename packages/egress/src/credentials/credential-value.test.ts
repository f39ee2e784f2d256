import { describe, expect, test } from 'vitest'
import { readCredentialValue, valueFault, valueMaxChars, valueMinChars } from './credential-value.ts'

describe('the value of a credential', () => {
  test.each([
    ['x'.repeat(valueMinChars - 1), 'fewer than 8'],
    ['x'.repeat(valueMaxChars + 1), 'more than 10000'],
    ['long enough\nbut two lines', 'control character'],
    ['long enough\u0000', 'control character'],
  ])(
    'the value of a credential is refused where it could not be kept out of what comes back, and says why',
    (value, why) => {
      expect(valueFault(value)).toContain(why)
      expect(valueFault(value)).not.toContain('long enough')
    },
  )

  test('the value of a credential is taken to the last character of its bounds, spaces and all', () => {
    for (const value of ['x'.repeat(valueMinChars), 'x'.repeat(valueMaxChars), 'two  words ü']) {
      expect(valueFault(value)).toBe(null)
    }
  })

  test('the value of a credential loses what pasting adds around it, and nothing inside', () => {
    expect(readCredentialValue(' \tsk-live 12345\r\n')).toBe('sk-live 12345')
  })

  test('a value that is too short after trimming is rejected with the required length', () => {
    expect(() => readCredentialValue(`   ${'x'.repeat(valueMinChars - 1)}   `)).toThrow(
      expect.objectContaining({ code: 'unprocessable', detail: expect.stringContaining('fewer than 8') }),
    )
  })
})
