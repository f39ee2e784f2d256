import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readAccessToken } from './access-token.ts'

function somePaths() {
  const folder = mkdtempSync(join(tmpdir(), 'access-token-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return { token: join(folder, '.access_token'), marker: join(folder, '.subdomain') }
}

test('a machine with neither file is self-hosted', () => {
  expect(readAccessToken(somePaths())).toBeNull()
})

test('the token is read without the white space around it', () => {
  const paths = somePaths()
  writeFileSync(paths.token, ' secret\n')
  expect(readAccessToken(paths)).toBe('secret')
})

test('a hosted machine without a token, and a token that cannot be read, give a token that opens nothing', () => {
  const marked = somePaths()
  writeFileSync(marked.marker, 'fleet-1')
  expect(readAccessToken(marked)).toBe('')
  const unreadable = somePaths()
  mkdirSync(unreadable.token)
  expect(readAccessToken(unreadable)).toBe('')
})
