import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import { isValidSession, readCookie, signSession } from './session-cookie.ts'

const token = 'access-token-of-the-host'
const nowMs = 1_800_000_000_000
const now = nowMs / 1000

function cookie(expiry: number | string, secret = token): string {
  const key = createHmac('sha256', secret).update('ol-cookie-signing').digest()
  return `${expiry}.${createHmac('sha256', key).update(String(expiry)).digest('hex')}`
}

describe('the session cookie', () => {
  test.each([
    ['one hour to go', now + 3600, true],
    ['24 hours and 5 minutes ahead', now + 24 * 3600 + 300, true],
    ['one second further ahead', now + 24 * 3600 + 301, false],
    ['expired', now - 1, false],
  ])('%s', (_name, expiry, valid) => {
    verifies(
      'authentication:dashboard:cookie-hmac',
      'authentication:dashboard:cookie-max-age',
      'authentication:dashboard:cookie-skew',
      'limits:session-cookie:max-age',
      'limits:session-cookie:skew',
    )
    expect(isValidSession(cookie(expiry), token, nowMs)).toBe(valid)
  })

  test('one signed with another token is refused', () => {
    expect(isValidSession(cookie(now + 60, 'other'), token, nowMs)).toBe(false)
  })

  test('a cookie with a changed expiry is refused', () => {
    const [, signature] = cookie(now + 60).split('.')
    expect(isValidSession(`${now + 61}.${signature}`, token, nowMs)).toBe(false)
  })

  test('a cookie that differs from the documented form is refused, also with a right signature', () => {
    const value = cookie(now + 60)
    const changed = [
      `${value}.`,
      `${value}.x`,
      `.${value}`,
      ` ${value}`,
      `"${value}"`,
      `${value}\n`,
      value.toUpperCase().replace('.', '.A'),
      value.replace('.', '..'),
      cookie(`+${now + 60}`),
      cookie(`${now + 60}.0`),
      cookie(''),
      value.slice(0, -1),
    ]
    expect(changed.filter((one) => isValidSession(one, token, nowMs))).toEqual([])
  })

  test('one of our own is as good as the front end’s', () => {
    expect(signSession(token, { nowMs, seconds: 60 })).toBe(cookie(now + 60))
  })

  test('the session cookie is found among others', () => {
    expect(readCookie('a=1; ol_session=x.y; b=2', 'ol_session')).toBe('x.y')
    expect(readCookie('xol_session=1', 'ol_session')).toBeUndefined()
  })
})
