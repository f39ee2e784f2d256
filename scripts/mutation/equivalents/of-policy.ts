import { allSince, inFile } from './equivalent.ts'
import type { Equivalent } from './equivalent.ts'

/**
 * The index of rules and the evaluation of conditions only save time: they leave out rules and readings for which the
 * decision would be the same.
 */
export const equivalentsOfPolicy: readonly Equivalent[] = [
  ...inFile('packages/identity/src/policy/condition-truth.ts', [
    ...allSince('a short cut: a result that is not kept is computed again, with the same value', [
      ['if (known !== undefined) {', 'if (false) {'],
      ['if (known !== undefined) {', 'if (known !== undefined) {}'],
      ['known.use.isShared = true', 'known.use.isShared = false'],
      ['const use = { isShared: false }', 'const use = {}'],
      ['const use = { isShared: false }', 'const use = { isShared: true }'],
      [
        "const valuesOf = node.op === 'value' ? compute : remembered(compute)",
        'const valuesOf = false ? compute : remembered(compute)',
      ],
      [
        "const valuesOf = node.op === 'value' ? compute : remembered(compute)",
        'const valuesOf = node.op === "" ? compute : remembered(compute)',
      ],
    ]),
    ...allSince(
      'a short cut: values have their declared types, so the long way throws nothing and gives the same result',
      [
        ['return held === 0 ? 0 : held & right(of)', 'return false ? 0 : held & right(of)'],
        ['return held === of.all ? held : held | right(of)', 'return false ? held : held | right(of)'],
        [
          'return (choice === 0 ? 0 : choice & held(of)) | (choice === of.all ? 0 : ~choice & failed(of))',
          'return (false ? 0 : choice & held(of)) | (choice === of.all ? 0 : ~choice & failed(of))',
        ],
        [
          'return (choice === 0 ? 0 : choice & held(of)) | (choice === of.all ? 0 : ~choice & failed(of))',
          'return (choice === 0 ? 0 : choice & held(of)) | (false ? 0 : ~choice & failed(of))',
        ],
        [
          "const literal = rightNode.op === 'value' ? plain(rightNode.args) : undefined",
          'const literal = false ? plain(rightNode.args) : undefined',
        ],
        [
          "const literal = rightNode.op === 'value' ? plain(rightNode.args) : undefined",
          'const literal = rightNode.op === "" ? plain(rightNode.args) : undefined',
        ],
        [
          "const extremes = typeof literal === 'number' && name in orders ? left.extremesOf : null",
          'const extremes = false ? left.extremesOf : null',
        ],
        [
          "const extremes = typeof literal === 'number' && name in orders ? left.extremesOf : null",
          'const extremes = typeof literal === "" && name in orders ? left.extremesOf : null',
        ],
        ['if (ends !== undefined) {', 'if (false) {'],
        ['if (ends !== undefined) {', 'if (ends !== undefined) {}'],
        [
          'if (least === test(ends[1], literal)) return least ? of.all : 0',
          'if (false) return least ? of.all : 0',
        ],
      ],
    ),
    ...allSince('a value that is the same for all readings is computed for each of them', [
      ['if (!left.usesPath && !right.usesPath) {', 'if (false) {'],
      ['if (!left.usesPath && !right.usesPath) {', 'if (!left.usesPath && !right.usesPath) {}'],
      [
        'if (parts.some(({ usesPath }) => usesPath)) return eachPath(valueFor)',
        'if (true) return eachPath(valueFor)',
      ],
    ]),
    ...allSince('a search for a text only leaves out readings for which the comparison fails as well', [
      ['if (among !== null && among(of) === 0) return 0', 'if (false) return 0'],
      [
        'const candidates = among === null ? of.all : among(of)',
        'const candidates = true ? of.all : among(of)',
      ],
      ['if (candidates === 0) return 0', 'if (false) return 0'],
      [
        'if ((candidates & reading) !== 0 && test(valueAt(lefts, at), valueAt(rights, at))) found |= reading',
        'if (true && test(valueAt(lefts, at), valueAt(rights, at))) found |= reading',
      ],
      ["const text = part.op === 'value' ? part.args : null", 'const text = false ? part.args : null'],
      [
        "const text = part.op === 'value' ? part.args : null",
        'const text = part.op === "" ? part.args : null',
      ],
      [
        "const isSearched = textTests.has(name) || (name === '==' && term.usesPath)",
        'const isSearched = false',
      ],
      [
        "const isSearched = textTests.has(name) || (name === '==' && term.usesPath)",
        "const isSearched = textTests.has(name) && name === '==' && term.usesPath",
      ],
      [
        "const isSearched = textTests.has(name) || (name === '==' && term.usesPath)",
        'const isSearched = textTests.has(name) || (false)',
      ],
      [
        "const isSearched = textTests.has(name) || (name === '==' && term.usesPath)",
        'const isSearched = textTests.has(name) || (name === "" && term.usesPath)',
      ],
      ["if (!isSearched || typeof text !== 'string' || text === '') return null", 'if (true) return null'],
      [
        "if (!isSearched || typeof text !== 'string' || text === '') return null",
        `if (!isSearched || typeof text !== "" || text === '') return null`,
      ],
      [
        "const textTests: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains'])",
        'const textTests: ReadonlySet<string> = new Set([])',
      ],
      [
        "const textTests: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains'])",
        `const textTests: ReadonlySet<string> = new Set(["", 'endsWith', 'contains'])`,
      ],
      [
        "const textTests: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains'])",
        `const textTests: ReadonlySet<string> = new Set(['startsWith', "", 'contains'])`,
      ],
      [
        "const textTests: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains'])",
        `const textTests: ReadonlySet<string> = new Set(['startsWith', 'endsWith', ""])`,
      ],
    ]),
    ...allSince('only a call has a name as its first argument', [
      [
        "if (node.op === 'rcall' && node.args[0] === 'size') return joined([termOf(node.args[1])], sizeOf)",
        "if (true && node.args[0] === 'size') return joined([termOf(node.args[1])], sizeOf)",
      ],
      [
        "if (node.op === 'rcall' && node.args[0] === 'lowerAscii') return joined([termOf(node.args[1])], lowered)",
        "if (true && node.args[0] === 'lowerAscii') return joined([termOf(node.args[1])], lowered)",
      ],
    ]),
    ...allSince('the texts of negated and other parts still differ', [
      [
        "return shared(needs, `${isNegated ? '!' : ''}${partKey(node)}`, () => (of) => {",
        `return shared(needs, \`\${isNegated ? '!' : "Stryker was here!"}\${partKey(node)}\`, () => (of) => {`,
      ],
    ]),
    ...allSince('only a literal has a number in the place of its parts', [
      [
        "const limit = literal.op === 'value' ? plain(literal.args) : null",
        'const limit = true ? plain(literal.args) : null',
      ],
    ]),
  ]),
  ...inFile('packages/identity/src/policy/rule-groups.ts', [
    ...allSince('the value before it is always there', [
      [
        'return (rules[0]?.bounds ?? []).map(({ extremesOf, isAbove }) => {',
        'return (rules[0].bounds ?? []).map(({ extremesOf, isAbove }) => {',
      ],
      [
        'return (rules[0]?.bounds ?? []).map(({ extremesOf, isAbove }) => {',
        'return (rules[0]?.bounds ?? ["Stryker was here"]).map(({ extremesOf, isAbove }) => {',
      ],
      [
        '.map((rule, at) => ({ rule, limit: limits[at]?.limit ?? 0 }))',
        '.map((rule, at) => ({ rule, limit: limits[at].limit ?? 0 }))',
      ],
    ]),
    ...allSince('without the number no rule of the list matches, however many are compared', [
      ["if (extremes === 'absent') return none", 'if (false) return none'],
      ["if (extremes === 'absent') return none", 'if (extremes === "") return none'],
    ]),
    ...allSince('of two lists of the same length both contain every rule that may match', [
      [
        'if (end - first < found.length) found = sorted.slice(first, end)',
        'if (end - first <= found.length) found = sorted.slice(first, end)',
      ],
    ]),
  ]),
  ...inFile('packages/identity/src/policy/rule-index.ts', [
    ...allSince('more candidates: whether a rule matches is decided by the rule itself', [
      [
        'credentials: ({ effect }) => effect.credentials ?? [],',
        'credentials: ({ effect }) => effect.credentials ?? ["Stryker was here"],',
      ],
      [
        'keysFrom: ({ effect: { host } }) => (host === undefined ? [] : hostKeys(host)),',
        'keysFrom: ({ effect: { host } }) => (host === undefined ? ["Stryker was here"] : hostKeys(host)),',
      ],
      [
        "{ keysOf: names('credential'), keysFrom: ({ folded }) => folded.credentials ?? [] },",
        `{ keysOf: names('credential'), keysFrom: ({ folded }) => folded.credentials ?? ["Stryker was here"] },`,
      ],
      [
        "partField('credential', ({ folded }) => folded.credentials ?? []),",
        `partField('credential', ({ folded }) => folded.credentials ?? ["Stryker was here"]),`,
      ],
      [
        "for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1))",
        `for (let dot = host.indexOf(""); dot !== -1; dot = host.indexOf('.', dot + 1))`,
      ],
    ]),
    ...allSince('the rules of conditions are found by their keys, so this function is never called', [
      ['keysOf: () => null,', 'keysOf: () => undefined,'],
      [
        'const partsField: IndexedField = { keysOf: () => null, keysFrom: () => [] }',
        'const partsField: IndexedField = {}',
      ],
      [
        'const partsField: IndexedField = { keysOf: () => null, keysFrom: () => [] }',
        'const partsField: IndexedField = { keysOf: () => undefined, keysFrom: () => [] }',
      ],
      [
        'const partsField: IndexedField = { keysOf: () => null, keysFrom: () => [] }',
        'const partsField: IndexedField = { keysOf: () => null, keysFrom: () => undefined }',
      ],
      [
        'const partsField: IndexedField = { keysOf: () => null, keysFrom: () => [] }',
        'const partsField: IndexedField = { keysOf: () => null, keysFrom: () => ["Stryker was here"] }',
      ],
    ]),
    ...allSince('both sides are cut alike, so equal ones stay equal', [
      [
        "const parts = isPath ? pattern.split(/\\*+\\/?/) : pattern.replace(/\\[.*\\]/s, '*').split(/[*?[]/)",
        "const parts = isPath ? pattern.split(/\\*\\/?/) : pattern.replace(/\\[.*\\]/s, '*').split(/[*?[]/)",
      ],
      ["const end = path.indexOf('/', 1)", 'const end = path.indexOf("", 1)'],
      ['return end === -1 ? path : path.slice(0, end)', 'return true ? path : path.slice(0, end)'],
      ['return end === -1 ? path : path.slice(0, end)', 'return end === -1 ? path : path'],
    ]),
    ...allSince('the value before it is always there', [
      [
        "return parts.toReversed().toSorted((a, b) => b.length - a.length)[0] ?? ''",
        'return parts.toReversed().toSorted((a, b) => b.length - a.length)[0] ?? "Stryker was here!"',
      ],
      [
        'const rarest = rarestOf(choices.get(rule) ?? [])',
        'const rarest = rarestOf(choices.get(rule) ?? ["Stryker was here"])',
      ],
      [
        'const index = field === undefined ? undefined : indexOf.get(field)',
        'const index = false ? undefined : indexOf.get(field)',
      ],
      [
        'return index === undefined ? [] : [{ index, keys: [...new Set(keys)] }]',
        'return false ? [] : [{ index, keys: [...new Set(keys)] }]',
      ],
      [
        'return index === undefined ? [] : [{ index, keys: [...new Set(keys)] }]',
        'return index === undefined ? ["Stryker was here"] : [{ index, keys: [...new Set(keys)] }]',
      ],
    ]),
    ...allSince('the same rule is compared with itself', [
      [
        'if (found !== null && rule.order > found.order) continue',
        'if (found !== null && rule.order >= found.order) continue',
      ],
    ]),
    ...allSince('which field finds a rule changes the speed alone', [
      ['counted.set(index, known)', ';'],
      [
        'if (!known.has(key)) index.counts.set(key, (index.counts.get(key) ?? 0) + 1)',
        'if (true) index.counts.set(key, (index.counts.get(key) ?? 0) + 1)',
      ],
      ['known.add(key)', ';'],
      ['parts: choice.filter(({ index }) => index.field === partsField).length,', 'parts: choice.length,'],
      [
        'parts: choice.filter(({ index }) => index.field === partsField).length,',
        'parts: choice.filter(({ index }) => true).length,',
      ],
      ['...choice', '...choice'],
      ['.filter(({ index }) => index.field !== partsField)', '.filter(({ index }) => true)'],
    ]),
    ...allSince('the keys of this field are all of that kind', [
      [
        "const groups = groupByNeeds(keys.filter((key) => typeof key !== 'string'))",
        'const groups = groupByNeeds(keys)',
      ],
      [
        "const groups = groupByNeeds(keys.filter((key) => typeof key !== 'string'))",
        'const groups = groupByNeeds(keys.filter((key) => true))',
      ],
      [
        "const groups = groupByNeeds(keys.filter((key) => typeof key !== 'string'))",
        'const groups = groupByNeeds(keys.filter((key) => typeof key !== ""))',
      ],
      [
        "const find = createTextFinder(keys.filter((key) => typeof key === 'string'))",
        'const find = createTextFinder(keys)',
      ],
      [
        "const find = createTextFinder(keys.filter((key) => typeof key === 'string'))",
        'const find = createTextFinder(keys.filter((key) => true))',
      ],
    ]),
  ]),
]
