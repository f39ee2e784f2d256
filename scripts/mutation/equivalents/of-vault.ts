import { inFile } from './equivalent.ts'
import type { Equivalent } from './equivalent.ts'

/** Reason for mutants of a hash that becomes the same for every text. */
const allPatternsLookedFor = 'where one hash fits all, every pattern is looked for, only not as fast'

export const equivalentsOfVault: readonly Equivalent[] = [
  ...inFile('packages/egress/src/credentials/fill-handles.ts', [
    {
      line: "encode(valueOf(placeholder.names[Number(index)] ?? '')),",
      becomes: 'encode(valueOf(placeholder.names[Number(index)] ?? "Stryker was here!")),',
      reason: 'an address has no placeholders except those that were numbered when they were inserted',
    },
    {
      line: "let mark = 'handle'",
      becomes: 'let mark = ""',
      reason: 'the line below lengthens it until the address does not contain it, so it is not read',
    },
  ]),
  ...inFile('packages/protocol/src/secret-text/find-patterns.ts', [
    {
      line: 'byHash.set(hash, [...(byHash.get(hash) ?? []), index])',
      becomes: 'byHash.set(hash, [...(byHash.get(hash) ?? ["Stryker was here"]), index])',
      reason: 'a pattern that is not there is not looked for',
    },
    ...[
      'if (false) return seen',
      'if (units.length < patternMinUnits && table.byHash.size === 0) return seen',
      'if (false || table.byHash.size === 0) return seen',
      'if (units.length < patternMinUnits || false) return seen',
    ].map((becomes) => ({
      line: 'if (units.length < patternMinUnits || table.byHash.size === 0) return seen',
      becomes,
      reason: 'a short cut: nothing is found in what is too short, nor where there is nothing to find',
    })),
    {
      line: 'if (table.sieve[slotOf(hash)] === 1) for (const index of table.byHash.get(hash) ?? []) seen.add(index)',
      becomes: 'if (true) for (const index of table.byHash.get(hash) ?? []) seen.add(index)',
      reason: 'the sieve only spares the look into the table',
    },
    {
      line: 'if (table.sieve[slotOf(hash)] === 1) for (const index of table.byHash.get(hash) ?? []) seen.add(index)',
      becomes:
        'if (table.sieve[slotOf(hash)] === 1) for (const index of table.byHash.get(hash) ?? ["Stryker was here"]) seen.add(index)',
      reason: 'a pattern that is not there is not looked for',
    },
    {
      line: 'for (let at = 1; at < pattern.length; at++) {',
      becomes: 'for (let at = 1; at <= pattern.length; at++) {',
      reason: 'what is written behind the end of the array is written nowhere',
    },
    {
      line: 'function hashOf(units: Uint16Array): number {',
      becomes: 'function hashOf(units: Uint16Array): number {}',
      reason: allPatternsLookedFor,
    },
    ...['false', 'at >= patternMinUnits'].map((condition) => ({
      line: 'for (let at = 0; at < patternMinUnits; at++) hash = (Math.imul(hash, hashBase) + (units[at] ?? 0)) | 0',
      becomes: `for (let at = 0; ${condition}; at++) hash = (Math.imul(hash, hashBase) + (units[at] ?? 0)) | 0`,
      reason: allPatternsLookedFor,
    })),
    {
      line: 'for (let at = 0; at < patternMinUnits; at++) hash = (Math.imul(hash, hashBase) + (units[at] ?? 0)) | 0',
      becomes:
        'for (let at = 0; at < patternMinUnits; at++) hash = (Math.imul(hash, hashBase) + (units[at] && 0)) | 0',
      reason: allPatternsLookedFor,
    },
    {
      line: 'if (pattern) for (const one of yield* occurrences(units, { index, pattern })) found.push(one)',
      becomes: 'if (true) for (const one of yield* occurrences(units, { index, pattern })) found.push(one)',
      reason: 'every index in the table is that of a pattern',
    },
    {
      line: 'yield* through(units.length - patternMinUnits + 1, (from, to) => {',
      becomes: 'yield* through(units.length + patternMinUnits + 1, (from, to) => {',
      reason: 'beginnings behind the end of the text are refuted by the search for the whole pattern',
    },
    {
      line: 'function slotOf(hash: number): number {',
      becomes: 'function slotOf(hash: number): number {}',
      reason: 'the sieve only spares the look into the table',
    },
  ]),
  ...inFile('packages/egress/src/credentials/handles.ts', [
    {
      line: "for (const found of text.matchAll(handle)) names.push(canonicalName(found[1] ?? ''))",
      becomes:
        'for (const found of text.matchAll(handle)) names.push(canonicalName(found[1] ?? "Stryker was here!"))',
      reason: 'a handle that was found has a name',
    },
  ]),
  ...inFile('packages/egress/src/credentials/host-pattern.ts', [
    {
      line: "const [, scheme = 'https', star, authority = ''] = form.exec(text) ?? []",
      becomes: `const [, scheme = 'https', star, authority = "Stryker was here!"] = form.exec(text) ?? []`,
      reason: 'neither is an address, so both come to nothing',
    },
    {
      line: "const [, scheme = 'https', star, authority = ''] = form.exec(text) ?? []",
      becomes: `const [, scheme = 'https', star, authority = ''] = form.exec(text) ?? ["Stryker was here"]`,
      reason: 'the whole of what matched is not read',
    },
  ]),
  ...inFile('packages/protocol/src/secret-text/scrub.ts', [
    ...[
      'if (false) return ranges',
      'if (patterns.length === 0 && text.length < patternMinUnits) return ranges',
      'if (false || text.length < patternMinUnits) return ranges',
      'if (patterns.length === 0 || false) return ranges',
    ].map((becomes) => ({
      line: 'if (patterns.length === 0 || text.length < patternMinUnits) return ranges',
      becomes,
      reason: 'a short cut: nothing is found in what is too short, nor where there is nothing to find',
    })),
    {
      line: 'return patterns[pattern]?.isBase64 ?? false',
      becomes: 'return patterns[pattern].isBase64 ?? false',
      reason: 'only patterns that are there are found',
    },
    {
      line: 'return patterns[pattern]?.isBase64 ?? false',
      becomes: 'return patterns[pattern]?.isBase64 ?? true',
      reason: 'only patterns that are there are found',
    },
    {
      line: 'else if (range.to > last.to) result[result.length - 1] = { from: last.from, to: range.to }',
      becomes: 'else if (range.to >= last.to) result[result.length - 1] = { from: last.from, to: range.to }',
      reason: 'two ranges with the same end are replaced by an equal one',
    },
    {
      line: 'if (ranges.length === 0) return text',
      becomes: 'if (false) return text',
      reason: 'a short cut: a text of which nothing is taken out comes out the same the long way',
    },
  ]),
  ...inFile('packages/wallet/src/payments/ordered-amounts.ts', [
    {
      line: '? tokenCalls[name]?.(order.call.args, { contract: order.contract, from })',
      becomes: '? tokenCalls[name](order.call.args, {\n  contract: order.contract,\n  from\n})',
      reason: 'the table has this name, as the condition before it says',
    },
  ]),
  ...inFile('packages/identity/src/access/decide-wallet-spend.ts', [
    {
      line: 'return hexadecimal.test(one) && hexadecimal.test(other)',
      becomes: 'return hexadecimal.test(one) || hexadecimal.test(other)',
      reason: 'what equals a hexadecimal address without case is one itself',
    },
  ]),
  ...inFile('packages/identity/src/access/within-parent.ts', [
    {
      line: 'return record === undefined ? undefined : boundByFleet(record, [...leftToFleet])',
      becomes: 'return false ? undefined : boundByFleet(record, [...leftToFleet])',
      reason:
        'an agent without a record leaves no limit to the fleet, and then its record is returned as it is',
    },
  ]),
]
