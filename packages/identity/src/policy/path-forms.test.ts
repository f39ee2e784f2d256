import { describe, expect, test } from 'vitest'
import { forbiddenForms, pathForms, pathFormsMax } from './path-forms.ts'

const sorted = (forms: readonly string[]) => forms.toSorted()

describe('the readings of a path', () => {
  test.each<[string, readonly string[]]>([
    ['/a/b', ['/a/b']],
    ['/', ['/']],
    ['', ['']],
    ['/%61/b', ['/%61/b', '/a/b']],
    ['/a%2Fb', ['/a%2Fb', '/a/b']],
    ['/%C3%A9', ['/%C3%A9', '/é']],
    ['/%E2%82%AC', ['/%E2%82%AC', '/€']],
    ['/%f0%9f%98%80', ['/%f0%9f%98%80', '/😀']],
    // IIS reads these.
    ['/%u0061/%U20AC', ['/%u0061/%U20AC', '/a/€']],
    ['/%u006/a', ['/%u006/a']],
    // An invalid sequence hides no valid one.
    ['/%c0%af%61', ['/%c0%af%61', '/%c0%afa']],
    ['/%e0%80%af%61', ['/%e0%80%af%61', '/%e0%80%afa']],
    ['/%ff/%61', ['/%ff/%61', '/%ff/a']],
    ['/x%ff%2f..%2f%61', ['/x%ff%2f..%2f%61', '/x%ff/../a', '/a']],
    ['/%61%80%c3%a9', ['/%61%80%c3%a9', '/a%80é']],
    ['/a//b', ['/a//b', '/a/b']],
    ['/a\\b', ['/a\\b', '/a/b']],
    ['/a/./b', ['/a/./b', '/a/b']],
    ['/a/../b', ['/a/../b', '/b']],
    ['/../b', ['/../b', '/b']],
    ['/a/..', ['/a/..', '/']],
    ['/a;v=1/b', ['/a;v=1/b', '/a/b']],
    ['/a;/b;x=y', ['/a;/b;x=y', '/a/b']],
    ['/%61;x/b', ['/%61;x/b', '/a;x/b', '/a/b']],
    ['/..;/x/../b', ['/..;/x/../b', '/..;/b', '/../x/../b', '/b']],
    ['/a/%252e%252e/b', ['/a/%252e%252e/b', '/a/%2e%2e/b', '/a/../b', '/b']],
    ['/%2561/%25252561', ['/%2561/%25252561', '/%61/%252561', '/a/%2561', '/a/%61', '/a/a']],
    ['/a%252Fb', ['/a%252Fb', '/a%2Fb', '/a/b']],
    // A server that decodes once reads `/a/b`, and a second one that decodes again reads `/b`.
    ['/a/%252e%252e%2f../b', ['/a/%252e%252e%2f../b', '/a/%2e%2e/../b', '/a/b', '/a/../../b', '/b']],
    // A server may resolve dots before the next one decodes.
    ['/%61/%2e%2e/..', ['/%61/%2e%2e/..', '/%61', '/a', '/a/../..', '/']],
    ['/100%25', ['/100%25', '/100%']],
    ['/a/%2e%2e/b', ['/a/%2e%2e/b', '/a/../b', '/b']],
    ['/a/..;/b', ['/a/..;/b', '/a/../b', '/b']],
    ['/%2e%2e//b', ['/%2e%2e//b', '/../b', '/..//b', '/%2e%2e/b', '/b']],
    ['a/b', ['a/b']],
    ['a/../b', ['a/../b', '/b']],
  ])('of %s are %j', (path, forms) => {
    expect(sorted(pathForms(path))).toEqual(sorted(forms))
  })

  test('are not continued beyond the maximum, however often a path is encoded', () => {
    expect(pathForms(`/%${'25'.repeat(1000)}61`)).toHaveLength(pathFormsMax + 1)
  })

  test.each<[readonly string[], readonly string[]]>([
    [['/a'], ['/a']],
    [['/a/'], ['/a/', '/a']],
    [['/a///'], ['/a///', '/a']],
    [['/'], ['/']],
    [['//'], ['//', '/']],
    [[''], ['']],
    [
      ['/a/', '/a'],
      ['/a/', '/a'],
    ],
  ])('that forbid, of %j, are %j', (forms, expected) => {
    expect(forbiddenForms(forms)).toEqual(expected)
  })
})
