import { describe, expect, it } from 'vitest'
import { usableAptSources } from './apt-sources.ts'

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
