import { expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { readSolverKeys } from './solver-keys.ts'

const environment = {
  CAPTCHA_SOLVER_KEY: 'the-primary',
  CAPTCHA_SOLVER_KEY_SECONDARY: 'the-secondary',
  CAPTCHA_SOLVER_PROXY_LOGIN: 'the-login',
  CAPTCHA_SOLVER_PROXY_PASSWORD: 'the-password',
}

test('the four names are read of the environment, and print as no value', () => {
  verifies('resources:credential:captcha-environment-only')
  const keys = readSolverKeys(environment)
  const values = [keys?.primary, keys?.secondary, keys?.proxyLogin, keys?.proxyPassword]
  expect(values.map((secret) => secret?.reveal())).toEqual(Object.values(environment))
  expect(JSON.stringify(keys)).not.toContain('the-')
})

test.each([
  ['nothing', {}],
  ['an empty key', { CAPTCHA_SOLVER_KEY: ' ' }],
  ['all but the key', { ...environment, CAPTCHA_SOLVER_KEY: undefined }],
])('with %s the solver is not used', (_what, env) => {
  expect(readSolverKeys(env)).toBeNull()
})

test('a key alone is enough', () => {
  expect(readSolverKeys({ CAPTCHA_SOLVER_KEY: 'the-primary' })).toMatchObject({
    secondary: null,
    proxyLogin: null,
    proxyPassword: null,
  })
})
