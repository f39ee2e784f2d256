import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { openAuthority } from './open-authority.ts'

const yearMs = 365 * 86_400_000

describe('the authority of a fleet', () => {
  let folder: string
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'flotilla-test-'))))
  afterEach(() => rm(folder, { recursive: true, force: true }))
  const open = (homeTag = 'aaaaaaaa', now = Date.now()) =>
    openAuthority({ path: join(folder, 'authority.pem'), homeTag, now, log: silentLog })

  test('the authority is made once, with its home in its name, in a file of the owner alone', async () => {
    const first = await open()
    expect((await open()).certificate).toBe(first.certificate)
    const certificate = new X509Certificate(first.certificate)
    expect(certificate.subject).toBe('CN=Flotilla fleet aaaaaaaa')
    expect(certificate.ca).toBe(true)
    expect((await stat(join(folder, 'authority.pem'))).mode & 0o777).toBe(0o600)
  })

  test.each([
    ['of another home', async () => open('bbbbbbbb')],
    ['that expires soon', async () => open('aaaaaaaa', Date.now() + 9.9 * yearMs)],
    [
      'in a damaged file',
      async () => {
        await writeFile(join(folder, 'authority.pem'), 'nothing')
        return open()
      },
    ],
    [
      'whose key belongs to another certificate',
      async () => {
        const text = await readFile(join(folder, 'authority.pem'), 'utf8')
        const other = (await open('bbbbbbbb')).certificate
        await writeFile(join(folder, 'authority.pem'), text.replace(/-----BEGIN CERTIFICATE[\s\S]*/, other))
        return open('bbbbbbbb')
      },
    ],
  ])('an authority %s is replaced by one with another key', async (_what, again) => {
    const before = new X509Certificate((await open()).certificate)
    const after = new X509Certificate((await again()).certificate)
    expect(after.publicKey.equals(before.publicKey)).toBe(false)
  })
})
