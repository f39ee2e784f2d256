import { spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sessionCookieName } from '@flotilla/protocol/headers'
import { accessTokenPath, hostedMarkerPath } from '@flotilla/protocol/hosted'
import { isValidSession } from '../packages/identity/src/http/gates/session-cookie.ts'
import { sessionCookieLimits } from '../packages/identity/src/http/gates/session-cookie.ts'

const page = readFileSync(join(import.meta.dirname, '..', 'docs/reference/session-cookie.md'), 'utf8')

/** The values in backticks of one row of the page's test vector. */
function row(name: string): readonly string[] {
  const line = page.split('\n').find((one) => one.startsWith(`| ${name} `)) ?? ''
  return [...line.matchAll(/`([^`]+)`/g)].map(([, value = '']) => value)
}

const [token = ''] = row('access token')
const [expiry = ''] = row('expiry')
const [cookie = ''] = row('cookie value')

/** The cookie of another implementation: the page's own program, or Node's crypto where Python is missing. */
function independently(accessToken: string, end: string): string {
  const program = /^```python\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? ''
  const ran = spawnSync('python3', ['-c', program, accessToken, end], { encoding: 'utf8' })
  if (ran.error === undefined) return `${ran.stdout.trim()}${ran.stderr}`
  const key = createHmac('sha256', accessToken).update('ol-cookie-signing').digest()
  return `${end}.${createHmac('sha256', key).update(end).digest('hex')}`
}

describe('the page about the session cookie', () => {
  test('the page about the session cookie has a test vector that the mesh accepts for the whole time that the page names, and not outside', () => {
    const isValidAt = (seconds: string) => isValidSession(cookie, token, Number(seconds) * 1000)
    expect(row('valid at').map(isValidAt)).toEqual([true, true, true])
    expect(row('refused at').map(isValidAt)).toEqual([false, false])
  })

  test('the page about the session cookie has a test vector that an independent implementation reproduces, with another line end too', () => {
    expect(independently(token, expiry)).toBe(cookie)
    expect(independently(`${token}\n`, expiry)).toBe(cookie)
  })

  test('the page about the session cookie has the key of its test vector in hexadecimal', () => {
    const key = createHmac('sha256', token).update('ol-cookie-signing').digest('hex')
    expect(row('key (hex)')).toEqual([key])
  })

  test('the page about the session cookie names the cookie, both files and the limits of the product', () => {
    expect(page).toContain(`Set-Cookie: ${sessionCookieName}=EXPIRY.SIGNATURE; Path=/; Max-Age=86400;`)
    expect(page).toContain(`\`${accessTokenPath}\``)
    expect(page).toContain(`\`${hostedMarkerPath}\``)
    expect(sessionCookieLimits).toEqual({ maxAgeSeconds: 86_400, skewSeconds: 5 * 60 })
  })
})
