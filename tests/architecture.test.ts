import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  adapters,
  agentParts,
  allowedNames,
  bannedCalls,
  bannedComments,
  bannedNames,
  jsonParsers,
  maxLines,
  unguardedFiles,
} from './architecture-rules.ts'
import { edgeImports } from './edge-imports.ts'
import { loadedOnFirstUse, sandboxAdapters, startsOfMesh } from './first-use-rules.ts'
import { importCircles } from './import-circles.ts'
import {
  files,
  imports,
  isOfMesh,
  meshNames,
  moduleFolders,
  moduleOf,
  packageOf,
  resolved,
  sources,
} from './imports-of-sources.ts'
import {
  longFunctions,
  maxAllLines,
  maxMembers,
  maxOwnLines,
  selfReferences,
  unshapedPackages,
  tallClosures,
  wideRecords,
} from './shape-rules.ts'
import { shapeOf } from './shape.ts'
import { mutualFolders, packageEdges } from './package-rules.ts'
import { repositoryRoot, withoutComments } from './source-files.ts'

/** The maximum number of lines of the file that composes the mesh: two screens. */
const composeLinesMax = 135
/** Packages of which a file is read by its path and never imported. */
const readByPath: readonly string[] = ['@novnc/novnc']
describe('the architecture', () => {
  test('packages import only what their zone may', () => {
    const offenders = imports.filter(({ from, to }) => {
      const [source, target] = [packageOf(from), packageOf(to)]
      if (!source || !target || source === target || target === 'protocol') return false
      if (meshNames.includes(source)) return meshNames.indexOf(target) < 0 || isAbove(source, target)
      return !packageEdges.find((edge) => edge.from === source)?.to.includes(target)
    })
    expect(offenders).toEqual([])

    function isAbove(source: string, target: string): boolean {
      return meshNames.indexOf(target) > meshNames.indexOf(source)
    }
  })

  test.each(meshNames)('the package %s depends on exactly what it imports', (name) => {
    const { dependencies = {} } = JSON.parse(
      readFileSync(join(repositoryRoot, 'packages', name, 'package.json'), 'utf8'),
    ) as { readonly dependencies?: Readonly<Record<string, string>> }
    const imported = sources
      .filter(({ path }) => packageOf(path) === name)
      .flatMap((file) => file.imports.map(({ specifier }) => packageName(specifier)))
      .filter((one) => one !== undefined)
    expect(Object.keys(dependencies).filter((one) => !readByPath.includes(one))).toEqual(
      [...new Set(imported)].toSorted(),
    )

    function packageName(specifier: string): string | undefined {
      if (/^(?:\.|node:)/.test(specifier)) return undefined
      return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0]
    }
  })

  test('no package of the mesh enters another by a relative path', () => {
    const offenders = sources.flatMap((file) =>
      file.imports
        .filter(({ specifier }) => specifier.startsWith('.'))
        .filter(({ specifier }) => packageOf(resolved(file.path, specifier)) !== packageOf(file.path))
        .map(({ specifier }) => `${file.path}: ${specifier}`),
    )
    expect(offenders).toEqual([])
  })

  test('protocol imports zod and nothing else', () => {
    const outside = imports.filter(
      ({ from, to }) => packageOf(from) === 'protocol' && packageOf(to) !== 'protocol',
    )
    expect([...new Set(outside.map((one) => one.to))]).toEqual(['zod/mini'])
  })

  test('modules of the mesh import only those above them', () => {
    const offenders = imports.filter(({ from, to }) => {
      const [source, target] = [moduleOf(from), moduleOf(to)]
      if (!source || !target || source === target) return false
      return moduleFolders.indexOf(target) > moduleFolders.indexOf(source)
    })
    expect(offenders).toEqual([])
  })

  test('the composition calls each context once, in their order, and spreads, decides and rejects nothing', () => {
    const compose = sources.find(({ path }) => path === 'packages/mesh/src/app/compose.ts')
    const text = withoutComments(compose?.text ?? '')
    const called = [...text.matchAll(/= (?:await )?(\w+)Modules\(kernel, /g)].map(([, name]) => name)
    const contexts = meshNames.filter((name) => name !== 'foundation' && name !== 'mesh')
    expect(called).toEqual(contexts)
    expect(text.split('\n').length).toBeLessThan(composeLinesMax)
    expect(text).not.toMatch(/\.\.\./)
    expect(text).not.toMatch(/\bguard\b|\bProblem\b|\bthrow\b/)
  })

  test('no file is imported by what it imports', () => {
    expect(importCircles(imports)).toEqual([])
  })

  test('no two folders of a package import each other', () => {
    const folders = new Set(
      imports
        .map(({ from, to }) => [posix.dirname(from), posix.dirname(to)] as const)
        .filter(([from, to]) => to.startsWith('packages/') && isBeside(from, to))
        .map(([from, to]) => `${from} ${to}`),
    )
    const mutual = [...folders].filter((pair) => folders.has(pair.split(' ').toReversed().join(' ')))
    expect(folders.size).toBeGreaterThan(100)
    const expected = mutualFolders.flatMap(([one, other]) => [`${one} ${other}`, `${other} ${one}`])
    expect(mutual.filter((pair) => !expected.includes(pair))).toEqual([])

    /** True unless one folder contains the other: the wiring of a folder and its parts know each other. */
    function isBeside(from: string, to: string): boolean {
      return !`${from}/`.startsWith(`${to}/`) && !`${to}/`.startsWith(`${from}/`)
    }
  })

  test('adapters of the sandbox share the port and the hardening, and nothing of each other', () => {
    const folder = 'packages/fleet/src/sandbox/'
    const folderOf = (path: string) => /^packages\/fleet\/src\/sandbox\/(\w+)\//.exec(path)?.[1]
    const folders = new Set(sources.map(({ path }) => folderOf(path)).filter((name) => name !== undefined))
    expect([...Object.values(sandboxAdapters).flat(), 'hardening'].toSorted()).toEqual(
      [...folders].toSorted(),
    )
    const adapterOf = (path: string) =>
      Object.entries(sandboxAdapters).find(([, parts]) => parts.includes(folderOf(path) ?? ''))?.[0]
    const offenders = imports.filter(({ from, to }) => {
      const target = adapterOf(to)
      return from.startsWith(folder) && target !== undefined && target !== adapterOf(from)
    })
    expect(offenders).toEqual([])
  })

  test('a module is entered by an index that its package exports', () => {
    const entrances = new Set(meshNames.flatMap((name) => exportsOf(name)))
    const offenders = imports.filter(({ from, to }) => {
      const [source, target] = [moduleOf(from), moduleOf(to)]
      if (!target || source === target || target === 'packages/mesh/src/app') return false
      return to !== `${target}/index.ts` && !entrances.has(to)
    })
    expect(offenders).toEqual([])

    function exportsOf(name: string): readonly string[] {
      const { exports = {} } = JSON.parse(
        readFileSync(join(repositoryRoot, 'packages', name, 'package.json'), 'utf8'),
      ) as { readonly exports?: Readonly<Record<string, string>> }
      return Object.values(exports).map((entry) => posix.join('packages', name, entry))
    }
  })

  test('a mesh loads at its start no part that its fleet may not need', () => {
    const loaded = new Set(['packages/mesh/src/main.ts', ...startsOfMesh])
    for (const file of loaded) {
      for (const { from, to, typeOnly, onUse } of imports) {
        if (from === file && !typeOnly && !onUse && to.startsWith('packages/')) loaded.add(to)
      }
    }
    expect(loaded.size).toBeGreaterThan(500)
    expect([...loaded].filter((path) => loadedOnFirstUse.some((part) => part.test(path)))).toEqual([])
    expect(loadedOnFirstUse.filter((part) => !sources.some(({ path }) => part.test(path)))).toEqual([])
  })

  test('every file of the mesh belongs to a module', () => {
    const homeless = sources
      .map(({ path }) => path)
      .filter((path) => isOfMesh(path) && moduleOf(path) === undefined)
      .filter((path) => path !== 'packages/mesh/src/main.ts')
    expect(homeless).toEqual([])
  })

  test('nothing that runs imports what serves tests', () => {
    const offenders = imports.filter(({ from, to }) => /\/testing\//.test(to) && !/\/testing\//.test(from))
    expect(offenders).toEqual([])
  })

  test('every row of the tables matches something', () => {
    const modules = new Set(sources.map((file) => moduleOf(file.path)))
    const packages = new Set(sources.map((file) => packageOf(file.path)))
    expect(moduleFolders.filter((folder) => !modules.has(folder))).toEqual([])
    expect(packageEdges.map((edge) => edge.from).filter((name) => !packages.has(name))).toEqual([])
    expect(
      edgeImports.filter((row) => !imports.some(({ to }) => to === row.module)).map((row) => row.module),
    ).toEqual([])
    expect(adapters.filter((row) => !sources.some((file) => row.makers.test(file.text))).map(String)).toEqual(
      [],
    )
  })

  test.each(edgeImports.map((row) => [row.module, row] as const))(
    '%s is imported at its edge only',
    (_name, row) => {
      const offenders = imports.filter(
        ({ from, to, typeOnly }) =>
          to === row.module && !typeOnly && !row.allowed.some((prefix) => from.startsWith(prefix)),
      )
      expect(offenders.map((one) => one.from)).toEqual([])
    },
  )

  test.each(adapters.map((row) => [String(row.makers), row] as const))(
    '%s is named in one place',
    (_name, row) => {
      const named = sources.filter(
        (file) =>
          row.makers.test(withoutComments(file.text)) &&
          !row.allowed.some((prefix) => file.path.startsWith(prefix)),
      )
      expect(named.map((file) => file.path)).toEqual([])
    },
  )

  test(`a part of the bundle of the agent is imported by no other part: ${agentParts.why}`, () => {
    const offenders = imports.filter(
      ({ from, to, typeOnly }) =>
        from.startsWith(agentParts.folder) && !typeOnly && to.startsWith('packages/'),
    )
    expect(offenders).toEqual([])
  })

  test.each(bannedCalls.map((row) => [String(row.pattern), row] as const))(
    '%s occurs only where it is allowed',
    (_name, row) => {
      const offenders = sources.filter(
        (file) =>
          row.pattern.test(withoutComments(file.text)) &&
          !row.allowed.some((prefix) => file.path.startsWith(prefix)),
      )
      expect(offenders.map((file) => file.path)).toEqual([])
    },
  )

  test('what takes a caller in a room of the mesh asks the guard, or says why not', () => {
    const takesCaller = /\(\s*caller: Caller[,)]/
    const unguarded = sources
      .filter(
        (file) =>
          moduleOf(file.path) !== undefined &&
          moduleOf(file.path) !== 'packages/identity/src/http' &&
          moduleOf(file.path) !== 'packages/mesh/src/app',
      )
      .filter(({ text }) => /export (?:type \w+ =|interface)/.test(text))
      .filter(({ text }) =>
        text
          .split(/^export (?=type|interface)/m)
          .slice(1)
          .some(declaresUse),
      )
      .filter(({ text }) => !/\bguard\(caller\b/.test(text))
      .map((file) => file.path)
    expect(unguarded.toSorted()).toEqual(unguardedFiles.map((row) => row.file).toSorted())

    /**
     * Finds a type or interface whose functions take a caller; its text ends with the first line that is not
     * indented.
     */
    function declaresUse(declared: string): boolean {
      return takesCaller.test(/^[\s\S]*?\n(?=\S)/.exec(declared)?.[0] ?? declared)
    }
  })

  test('JSON is parsed by the bounded reader, or by a file that names the source of the text', () => {
    const parsers = sources
      .filter((file) => isOfMesh(file.path))
      .filter((file) => /\bJSON\.parse\(|\.json\(\)/.test(withoutComments(file.text)))
      .map((file) => file.path)
    expect(parsers.toSorted()).toEqual(jsonParsers.map((row) => row.file).toSorted())
  })

  test('importing a module does nothing and keeps nothing', () => {
    const offenders = sources.filter((file) => /^(?:export )?let /m.test(file.text))
    expect(offenders.map((file) => file.path)).toEqual([])
  })

  test('no file outgrows its room', () => {
    const offenders = files.filter((file) => {
      const lines = file.text.split('\n').length
      return lines > (file.isTest ? maxLines.test : maxLines.source)
    })
    expect(offenders.map((file) => file.path)).toEqual([])
  })

  test('names say what is inside', () => {
    const offenders = files.filter(
      (file) =>
        !allowedNames.some((allowed) => allowed.test(file.path)) &&
        file.path
          .replace(/^packages\/\w+\/src\//, '')
          .split(/[/.-]/)
          .some((part) => bannedNames.includes(part)),
    )
    expect(offenders.map((file) => file.path)).toEqual([])
  })

  test('a port has a conformance suite beside it and names no product', () => {
    const ports = sources.filter((file) => /^\/\*\*\s*\n?\s*\*? ?PORT\b/m.test(file.text))
    expect(ports.length).toBeGreaterThanOrEqual(2)
    expect(
      ports
        .filter((file) => !existsSync(join(repositoryRoot, file.path.replace(/\.ts$/, '.conformance.ts'))))
        .map((file) => file.path),
    ).toEqual([])
    expect(
      ports.filter((file) => /docker|podman|openai|dockerode/i.test(file.text)).map((file) => file.path),
    ).toEqual([])
  })

  test('comments outlive the day they were written', () => {
    const offenders = sources.filter((file) => bannedComments.some((pattern) => pattern.test(file.text)))
    expect(offenders.map((file) => file.path)).toEqual([])
  })

  test('titles are facts', () => {
    const offenders = files.filter((file) =>
      /\b(?:test|it)(?:\.each\([^)]*\))?\(\s*['"`]should /.test(file.text),
    )
    expect(offenders.map((file) => file.path)).toEqual([])
  })

  test('no test replaces a module', () => {
    expect(
      files
        .filter((file) => /\bvi\.mock\(/.test(file.text))
        .map((file) => file.path)
        .filter((path) => path !== 'tests/architecture.test.ts'),
    ).toEqual([])
  })

  test('paths of endpoints are written down in protocol alone', () => {
    const offenders = sources.filter(
      (file) =>
        packageOf(file.path) !== 'protocol' && /['"`]\/(?:mesh|api|v1)\//.test(withoutComments(file.text)),
    )
    expect(offenders.map((file) => file.path)).toEqual([])
  })
})

/** Files, functions and records above their bound, with their size, among the files that the parser reads. */
const shapes = sources
  .filter(({ path }) => !unshapedPackages.includes(packageOf(path) ?? ''))
  .filter(({ path }) => !path.includes('/testing/') && !path.endsWith('.conformance.ts'))
  .map((file) => ({ path: file.path, ...shapeOf(file) }))

function beyond(
  found: readonly (readonly [name: string, size: number])[],
  { bound, allowed }: { readonly bound: number; readonly allowed: ReadonlyMap<string, number> },
) {
  const above = found.filter(([, size]) => size > bound)
  const names = new Set(above.map(([name]) => name))
  return {
    tooLarge: above.filter(([name, size]) => size > (allowed.get(name) ?? bound)),
    needless: [...allowed.keys()].filter((name) => !names.has(name)),
  }
}

describe('the shape of the sources', () => {
  test('the shape of the sources is read: a parser that understood nothing would find nothing wrong', () => {
    expect(shapes.flatMap(({ functions }) => functions).length).toBeGreaterThan(8000)
    expect(shapes.flatMap(({ records }) => records).length).toBeGreaterThan(2000)
  })

  test(`the shape of the sources has no record of more than ${maxMembers} members but those that say why`, () => {
    const found = shapes.flatMap(({ path, records }) =>
      records.map(({ name, members }) => [`${path} ${name}`, members] as const),
    )
    const allowed = new Map(wideRecords.map(({ record, membersMax }) => [record, membersMax]))
    expect(beyond(found, { bound: maxMembers, allowed })).toEqual({ tooLarge: [], needless: [] })
  })

  test(`the shape of the sources has no function of more than ${maxOwnLines} lines of its own but those that say why`, () => {
    const found = shapes.flatMap(({ path, functions }) =>
      functions.map(({ name, ownLines }) => [`${path} ${name}`, ownLines] as const),
    )
    const allowed = new Map(longFunctions.map(({ name, ownLinesMax }) => [name, ownLinesMax]))
    expect(beyond(found, { bound: maxOwnLines, allowed })).toEqual({ tooLarge: [], needless: [] })
  })

  test(`the shape of the sources has no function of more than ${maxAllLines} lines with all that it holds but those that say why`, () => {
    const found = shapes.flatMap(({ path, functions }) =>
      functions.map(({ name, allLines }) => [`${path} ${name}`, allLines] as const),
    )
    const allowed = new Map(tallClosures.map(({ name, allLinesMax }) => [name, allLinesMax]))
    expect(beyond(found, { bound: maxAllLines, allowed })).toEqual({ tooLarge: [], needless: [] })
  })

  test('the shape of the sources names no constant above its declaration, but where what begins names what ends it', () => {
    const used = shapes.flatMap(({ path, usedBefore }) => usedBefore.map((name) => `${path} ${name}`))
    expect(used.toSorted()).toEqual(selfReferences.map(({ name }) => name).toSorted())
  })
})
