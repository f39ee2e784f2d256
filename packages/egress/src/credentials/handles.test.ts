import { describe, expect, test } from 'vitest'
import { handleFor, handleNames, replaceHandles } from './handles.ts'

describe('a handle', () => {
  test('a handle is written in small letters, and read again as the same name', () => {
    expect(handleFor('GitHub_Token')).toBe('$CRED{github_token}')
    expect(handleNames(handleFor('GitHub_Token'))).toEqual(['github_token'])
  })

  test('a handle holds a name as long as the vault takes one, and none that is longer', () => {
    const longest = `A${'b_9'.repeat(42)}c`
    expect(longest).toHaveLength(128)
    expect(handleNames(`$CRED{${longest}}`)).toEqual([longest.toLowerCase()])
    expect(() => handleNames(`$CRED{${longest}d}`)).toThrow(expect.objectContaining({ code: 'bad-request' }))
  })

  test('a handle is listed once for each occurrence, in order', () => {
    expect(handleNames('$CRED{b}, $CRED{A} and $CRED{b}')).toEqual(['b', 'a', 'b'])
    expect(handleNames('no handle')).toEqual([])
  })

  test('a malformed handle is rejected even next to valid ones, so a request is never filled in partially', () => {
    for (const text of ['$CRED{a} $CRED{', '$CRED{$CRED{a}} $CRED{b}', '$CRED{_a} $CRED{b}'])
      expect(() => handleNames(text), text).toThrow(
        expect.objectContaining({
          code: 'bad-request',
          detail: expect.stringContaining('$CRED{name}') as string,
        }),
      )
  })

  test('a handle is filled at every place, each by its own name', () => {
    expect(replaceHandles('$CRED{A}-$CRED{b}-$CRED{a}', (name) => `<${name}>`)).toBe('<a>-<b>-<a>')
  })
})
