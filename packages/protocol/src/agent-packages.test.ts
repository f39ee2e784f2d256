import { expect, test } from 'vitest'
import { isWithoutPackages, joinPackages, packageListSchema, toolboxes } from './agent-packages.ts'

test.each([
  { apt: ['ripgrep', 'g++', 'libc6=2.36-9+deb12u10'] },
  { npm: ['typescript', '@scope/name@1.2.3', 'eslint@^9', 'codex@latest'] },
  { pip: ['requests', 'numpy==2.1.0', 'uvicorn[standard]>=0.30,<1'] },
  { toolboxes: ['python', 'build'] },
  {},
])('a list with ordinary names is valid: %j', (list) => {
  expect(packageListSchema.safeParse(list).success).toBe(true)
})

test.each([
  { apt: ['-oDpkg::Pre-Invoke::=sh'] },
  { apt: ['./file.deb'] },
  { apt: ['a b'] },
  { apt: ['name$(id)'] },
  { npm: ['--ignore-scripts=false'] },
  { npm: ['git+https://example.org/x.git'] },
  { npm: ['../folder'] },
  { npm: ['name@https://example.org/x.tgz'] },
  { npm: ['name@npm:other'] },
  { pip: ['--index-url=https://example.org'] },
  { pip: ['name @ https://example.org/x.whl'] },
  { pip: ['name; python_version>"3"'] },
  { apt: ['libc6-'] },
  { apt: ['hello=2.10-'] },
  { apt: ['hello/stable'] },
  { apt: ['tasksel^'] },
  { apt: ['heIIo\u0430'] },
  { npm: ['owner/name'] },
  { npm: ['github:owner/name'] },
  { npm: ['name.tgz'] },
  { npm: ['name.tar.gz'] },
  { npm: ['re\u0430ct'] },
  { npm: ['name\n--registry=https://example.org'] },
  { pip: ['wheel.whl'] },
  { pip: ['wheel.WHL'] },
  { pip: ['a.Zip==1'] },
  { pip: ['name.tar.gz==1'] },
  { pip: ['name.zip[extra]'] },
  { pip: ['git+ssh://git@example.org/x'] },
  { pip: ['-e.'] },
  { pip: ['num\u03c1y'] },
  { toolboxes: ['rust'] },
  { gem: ['rails'] },
])('an option, a path, an address or an unknown field is refused: %j', (list) => {
  expect(packageListSchema.safeParse(list).success).toBe(false)
})

test('equal sets of packages give equal lists, whatever their order', () => {
  const joined = joinPackages([{ apt: ['b', 'a'] }, { apt: ['a'], npm: ['x'] }])
  expect(joined).toEqual({ apt: ['a', 'b'], npm: ['x'], pip: [] })
  expect(joinPackages([{ npm: ['x'], apt: ['a', 'b'] }])).toEqual(joined)
})

test('a toolbox is replaced by its packages', () => {
  expect(joinPackages([{ toolboxes: ['python'], apt: ['ffmpeg'] }]).apt).toEqual(
    ['ffmpeg', ...toolboxes.python.apt].toSorted(),
  )
})

test('an empty list needs no image', () => {
  expect(isWithoutPackages(joinPackages([{}, { apt: [] }]))).toBe(true)
  expect(isWithoutPackages(joinPackages([{ pip: ['requests'] }]))).toBe(false)
})

test('the packages of each toolbox are valid names', () => {
  for (const { apt, npm, pip } of Object.values(toolboxes)) {
    const list = { apt: [...apt], npm: [...npm], pip: [...pip] }
    expect(packageListSchema.safeParse(list).success).toBe(true)
  }
})
