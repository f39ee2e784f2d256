import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { removeSourceCredentials, usableAptSources } from './apt-sources.ts'

describe('usableAptSources', () => {
  it('usableAptSources keeps the stanzas of the release and drops others, disabled and source ones', () => {
    const text = [
      '# mirror\nTypes: deb\nURIs: http://m/debian\nSuites: bookworm bookworm-updates\nComponents: main',
      'Types: deb\nURIs: https://node\nSuites: nodistro\nComponents: main',
      'Types: deb-src\nURIs: http://m/debian\nSuites: bookworm\nComponents: main',
      'Enabled: no\nTypes: deb\nURIs: http://m/debian\nSuites: bookworm\nComponents: main',
      'Types: deb\nURIs: http://docker\nSuites: bookworm\nComponents: stable',
    ].join('\n\n')
    const [kept, ...rest] = usableAptSources([{ path: '/a.sources', text }], 'bookworm')
    expect(rest).toEqual([])
    expect(kept?.text).toBe(
      'Types: deb\nURIs: http://m/debian\nSuites: bookworm bookworm-updates\nComponents: main',
    )
  })

  it('usableAptSources keeps one-line entries with their options', () => {
    const text =
      'deb [signed-by=/k] http://m/debian bookworm main\ndeb http://m/debian sid main\n# deb http://x bookworm main\n'
    expect(usableAptSources([{ path: '/a.list', text }], 'bookworm')).toEqual([
      { path: '/a.list', text: 'deb [signed-by=/k] http://m/debian bookworm main' },
    ])
  })

  it('a release that no source names gives nothing', () => {
    expect(usableAptSources([{ path: '/a.list', text: 'deb http://m bookworm main' }], 'trixie')).toEqual([])
  })
})

it('passwords in addresses of package sources do not remain in an image', async () => {
  const root = await mkdtemp(join(tmpdir(), 'flotilla-sources-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const folder = join(root, 'etc', 'apt', 'sources.list.d')
  await mkdir(folder, { recursive: true })
  const files = {
    '0.list': 'deb [arch=amd64] https://ann:p%40w@apt.corp.test/debian bookworm main\n',
    '1.sources': 'Types: deb\nURIs: http://ann@a.test/d http://b.test/d\nSuites: bookworm\n',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  execFileSync('sh', ['-c', removeSourceCredentials, 'hook', root])
  expect(await readFile(join(folder, '0.list'), 'utf8')).toBe(
    'deb [arch=amd64] https://apt.corp.test/debian bookworm main\n',
  )
  expect(await readFile(join(folder, '1.sources'), 'utf8')).toBe(
    'Types: deb\nURIs: http://a.test/d http://b.test/d\nSuites: bookworm\n',
  )
})
