import { describe, expect, test } from 'vitest'
import { placeholderFiles } from './placeholder-files.ts'
import { trustedFiles } from './trusted-files.ts'

describe('files and variables of programs', () => {
  test('each use of a credential puts its placeholder where the program looks for it', () => {
    const { environment, files } = placeholderFiles([
      {
        placeholder: 'ghp_placeholder',
        uses: [
          { kind: 'env', variable: 'GH_TOKEN' },
          { kind: 'git', user: 'me' },
          { kind: 'npm' },
          { kind: 'netrc', user: 'me' },
        ],
        origins: ['https://code.test', 'https://code.test:8443'],
      },
    ])
    expect(environment).toEqual({
      GH_TOKEN: 'ghp_placeholder',
      GIT_CONFIG_SYSTEM: '/briefing/gitconfig',
      NPM_CONFIG_GLOBALCONFIG: '/briefing/npmrc',
      NETRC: '/briefing/netrc',
    })
    expect(files['gitconfig']).toMatch(/^\[http\]\n\tpostBuffer = 4194304\n\[credential/)
    expect(files['gitconfig']).toContain('[credential "https://code.test:8443"]')
    expect(files['npmrc']).toContain('//code.test:8443/:_authToken=ghp_placeholder\n')
    expect(files['netrc']).toContain('machine code.test login me password ghp_placeholder\n')
  })

  test('a credential without an exact host has only its variable', () => {
    const { environment, files } = placeholderFiles([
      {
        placeholder: 'p',
        uses: [
          { kind: 'env', variable: 'TOKEN' },
          { kind: 'git', user: 'me' },
        ],
        origins: [],
      },
    ])
    expect(environment).toEqual({ TOKEN: 'p' })
    expect(files).toEqual({})
  })

  test('every variable names a file that contains the authority of the fleet', () => {
    const { environment, files } = trustedFiles('THE FLEET', ['ONE', 'TWO'])
    for (const path of Object.values(environment))
      expect(files[path.replace('/briefing/', '')]).toContain('THE FLEET')
    expect(files['ca-bundle.pem']).toBe('ONE\nTWO\nTHE FLEET\n')
    for (const name of [
      'SSL_CERT_FILE',
      'GIT_SSL_CAINFO',
      'NODE_EXTRA_CA_CERTS',
      'REQUESTS_CA_BUNDLE',
      'PIP_CERT',
      'CARGO_HTTP_CAINFO',
      'AWS_CA_BUNDLE',
      'CURL_CA_BUNDLE',
      'npm_config_cafile',
    ])
      expect(environment).toHaveProperty(name)
  })
})
