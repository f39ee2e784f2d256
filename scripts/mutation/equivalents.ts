/** A mutant that no test can kill, since nothing that anybody could see is different with it. */
export interface Equivalent {
  readonly file: string
  /** The line where it begins, trimmed. */
  readonly line: string
  /** What the mutant makes of it. */
  readonly becomes: string
  readonly reason: string
}

/** Of a hash that is the same for every text. */
const allNeedlesLookedFor = 'where one hash fits all, every needle is looked for, only not as fast'

/** They do not count in the score. An entry that no mutant answers to, or that a test kills, fails the run. */
export const equivalents: readonly Equivalent[] = [
  ...inFile('packages/agent/src/files/walk-path.ts', [
    {
      line: "{ handle: await promises.open(walk.root, directoryFlags), name: '' },",
      becomes: '{ handle: await promises.open(walk.root, directoryFlags), name: "Stryker was here!" },',
      reason: 'the root has no name below itself: nothing reads it',
    },
    {
      line: 'await held.pop()?.handle.close()',
      becomes: 'await held.pop().handle.close()',
      reason: 'the line above refuses to leave the root, so there is always one to take',
    },
  ]),
  ...inFile('packages/agent/src/loop/loop-detection.ts', [
    {
      line: "if (last === null || isExempt) return { calls, verdict: 'run' }",
      becomes: "if (false || isExempt) return { calls, verdict: 'run' }",
      reason:
        'a call that was never made has no result, and none that was made has that: it runs all the same',
    },
  ]),
  ...inFile('packages/mesh/src/approvals/ask-approval.ts', [
    {
      line: "runId: caller.kind === 'agent' ? (caller.run?.runId ?? null) : null,",
      becomes: 'runId: true ? (caller.run?.runId ?? null) : null,',
      reason: 'a caller that is no agent has no run, so both ways it is null',
    },
  ]),
  ...inFile('packages/mesh/src/policy/authorize.ts', [
    {
      line: "return action.do === 'call-api' && programApis.includes(action.api)",
      becomes: 'return true && programApis.includes(action.api)',
      reason: 'no other action has an api, and what is not there is in no list',
    },
  ]),
  ...inFile('packages/mesh/src/conditions/condition-words.ts', [
    {
      line: "at += (space ?? name ?? number ?? quoted ?? sign ?? ' ').length",
      becomes: 'at += (space ?? name ?? number ?? quoted ?? sign ?? "").length',
      reason: 'where none was found the line above has thrown',
    },
  ]),
  ...inFile('packages/mesh/src/conditions/parse-condition.ts', [
    {
      line: 'if (!(error instanceof RE2JSException)) throw error',
      becomes: 'if (false) throw error',
      reason: 'the library throws nothing else for a text; a fault of its own is not to be told to an owner',
    },
  ]),
  ...inFile('packages/mesh/src/egress/address-ranges.ts', [
    ...[
      ["if (isIP(address) === 0 || address.includes('%')) return false", 'isIP(address) === 0', 'false'],
      [
        'return isIP(address) !== 0 && loopback[family].check(address, family)',
        'isIP(address) !== 0',
        'true',
      ],
      [
        'return (address) => isIP(address) !== 0 && lists[familyOf(address)].check(address, familyOf(address))',
        'isIP(address) !== 0',
        'true',
      ],
    ].map(([line = '', asked = '', answer = '']) => ({
      line,
      becomes: line.replace(asked, answer),
      reason: 'what is no address is in no list of Node’s either, though nowhere it says so',
    })),
    ...['globalUnicast.check(address, "") &&', '!notPublic.ipv6.check(address, "")'].map((becomes) => ({
      line: becomes.replace('""', "'ipv6'"),
      becomes,
      reason: 'Node takes every family but ipv4 for ipv6',
    })),
    ...[
      `const [head = "Stryker was here!", tail] = new URL(\`http://[\${address}]/\`).hostname.slice(1, -1).split('::')`,
      `const [head = '', tail] = new URL(\`http://[\${address}]/\`).hostname.split('::')`,
    ].map((becomes) => ({
      line: "const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::')",
      becomes,
      reason:
        'only the fifth and the sixth group are looked at, and brackets stand at the first and the last',
    })),
    ...[
      "false ? [] : part.split(':').map((hex) => Number.parseInt(hex, 16))",
      `part === "Stryker was here!" ? [] : part.split(':').map((hex) => Number.parseInt(hex, 16))`,
      `part === '' ? ["Stryker was here"] : part.split(':').map((hex) => Number.parseInt(hex, 16))`,
    ].map((becomes) => ({
      line: "part === '' ? [] : part.split(':').map((hex) => Number.parseInt(hex, 16))",
      becomes,
      reason:
        'a public address does not begin with the gap, and behind a gap at its end nothing is looked at',
    })),
  ]),
  ...inFile('packages/mesh/src/egress/destination.ts', [
    ...[String.raw`/\[|\]$/g`, String.raw`/^\[|\]/g`].map((form) => ({
      line: String.raw`const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')`,
      becomes: String.raw`const host = url.hostname.replace(${form}, '').replace(/\.$/, '')`,
      reason: 'brackets stand at the ends of a host that was parsed, and nowhere else',
    })),
  ]),
  ...inFile('packages/mesh/src/egress/host-list.ts', [
    {
      line: "return parseHostAndPort(`${host.includes(':') ? `[${host}]` : host}:80`)?.host ?? ''",
      becomes:
        'return parseHostAndPort(`${host.includes(\':\') ? `[${host}]` : host}:80`)?.host ?? "Stryker was here!"',
      reason: 'no host is spelled so, as none is empty',
    },
  ]),
  ...inFile('packages/mesh/src/egress/judge-destination.ts', [
    {
      line: 'if (!inside.every(({ address }) => deps.exceptions?.opens(address, port))) {',
      becomes: 'if (!inside.every(({ address }) => deps.exceptions.opens(address, port))) {',
      reason: 'without exceptions the line above has refused what is inside',
    },
    ...['{}', '{ once: false }'].map((options) => ({
      line: "signal.addEventListener('abort', giveUp, { once: true })",
      becomes: `signal.addEventListener('abort', giveUp, ${options})`,
      reason: 'a signal aborts once',
    })),
  ]),
  ...inFile('packages/mesh/src/policy/glob.ts', [
    ...allSince('the loop ends before the pattern does, so there is always a character', [
      [
        "tokens.push({ kind: 'literal', character: pattern[at] ?? '' })",
        `tokens.push({ kind: 'literal', character: pattern[at] ?? "Stryker was here!" })`,
      ],
      ["const character = pattern[at] ?? ''", 'const character = pattern[at] ?? "Stryker was here!"'],
    ]),
    {
      line: "const from = pattern[at] ?? ''",
      becomes: 'const from = pattern[at] ?? "Stryker was here!"',
      reason: 'the loop ends at the closing bracket, so there is always a character',
    },
    {
      line: "ranges.push([from, isRange ? (pattern[at + 2] ?? '') : from])",
      becomes: 'ranges.push([from, isRange ? (pattern[at + 2] ?? "Stryker was here!") : from])',
      reason: 'a range ends before the closing bracket, so there is always a character',
    },
    ...allSince('a short cut: what the end of the name is not compared with first, the tokens are', [
      [
        "const to = tokens.findLastIndex((token) => token.kind !== 'literal')",
        'const to = tokens.findLastIndex((token) => true)',
      ],
      [
        "const to = tokens.findLastIndex((token) => token.kind !== 'literal')",
        'const to = tokens.findLastIndex((token) => token.kind !== "")',
      ],
    ]),
    ...allSince('a short cut: stars alone match whatever is between the same the long way', [
      [
        "const takesAnything = between.every((token) => token.kind === 'many')",
        'const takesAnything = between.every(() => undefined)',
      ],
      [
        "const takesAnything = between.every((token) => token.kind === 'many')",
        'const takesAnything = between.every((token) => false)',
      ],
      [
        "const takesAnything = between.every((token) => token.kind === 'many')",
        'const takesAnything = between.every((token) => token.kind === "")',
      ],
    ]),
    ...allSince('a typed array keeps nothing beyond its end, which is where the text ends', [
      ['if (character !== undefined) next[at + 1] = 1', 'if (true) next[at + 1] = 1'],
      [
        'if (character !== undefined && isInSet(token.ranges, character) !== token.negated) next[at + 1] = 1',
        'if (true && isInSet(token.ranges, character) !== token.negated) next[at + 1] = 1',
      ],
    ]),
    {
      line: 'for (let end = at; end <= text.length && next[end] === 0; end++) {',
      becomes: 'for (let end = at; true && next[end] === 0; end++) {',
      reason: 'beyond the end of a typed array there is no zero, so the loop ends there too',
    },
    {
      line: "for (let end = at; end < text.length; end++) if (text[end] === '/') next[end + 1] = 1",
      becomes: "for (let end = at; end <= text.length; end++) if (text[end] === '/') next[end + 1] = 1",
      reason: 'where the text ends there is no slash',
    },
  ]),
  ...inFile('packages/mesh/src/runs/lease.ts', [
    {
      line: 'if (run.leaseUntil !== null && run.leaseUntil - now > renewBelowMs) return run.leaseUntil',
      becomes: 'if (true && run.leaseUntil - now > renewBelowMs) return run.leaseUntil',
      reason: 'no lease counts as one until 1970 there, of which nothing is left either',
    },
  ]),
  ...inFile('packages/mesh/src/runs/settle-run.ts', [
    {
      line: '...(code === undefined ? {} : { code }),',
      becomes: '...(false ? {} : { code }),',
      reason: 'the note is kept as JSON, which leaves out what is undefined',
    },
    {
      line: '...(result === undefined ? {} : { result }),',
      becomes: '...(false ? {} : { result }),',
      reason: 'the note is kept as JSON, which leaves out what is undefined',
    },
  ]),
  ...inFile('packages/mesh/src/vault/fill-handles.ts', [
    {
      line: "encode(valueOf(placeholder.names[Number(index)] ?? '')),",
      becomes: 'encode(valueOf(placeholder.names[Number(index)] ?? "Stryker was here!")),',
      reason: 'no place-holder stands in an address but those that were numbered when they were put there',
    },
    {
      line: "let mark = 'handle'",
      becomes: 'let mark = ""',
      reason: 'the line below lengthens it until it stands nowhere in the address, and nobody reads it',
    },
  ]),
  ...inFile('packages/mesh/src/vault/find-needles.ts', [
    {
      line: 'byHash.set(hash, [...(byHash.get(hash) ?? []), index])',
      becomes: 'byHash.set(hash, [...(byHash.get(hash) ?? ["Stryker was here"]), index])',
      reason: 'a needle that is not there is not looked for',
    },
    {
      line: 'return needle ? occurrences(units, { index, needle }) : []',
      becomes: 'return needle ? occurrences(units, { index, needle }) : ["Stryker was here"]',
      reason: 'only needles that are there were put into the table',
    },
    ...[
      'if (false) return seen',
      'if (units.length < needleMinUnits && table.byHash.size === 0) return seen',
      'if (false || table.byHash.size === 0) return seen',
      'if (units.length < needleMinUnits || false) return seen',
    ].map((becomes) => ({
      line: 'if (units.length < needleMinUnits || table.byHash.size === 0) return seen',
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
      reason: 'a needle that is not there is not looked for',
    },
    {
      line: 'if (end >= units.length) return seen',
      becomes: 'if (end > units.length) return seen',
      reason: 'a place too far may only name one needle more to look for, which is then not found',
    },
    {
      line: 'for (let at = 0; at < units.length; at++) {',
      becomes: 'for (let at = 0; at <= units.length; at++) {',
      reason: 'behind the text stands no unit, and that is like none of the needle',
    },
    {
      line: 'for (let at = 1; at < needle.length; at++) {',
      becomes: 'for (let at = 1; at <= needle.length; at++) {',
      reason: 'what is written behind the end of the array is written nowhere',
    },
    {
      line: 'function hashOf(units: Uint16Array): number {',
      becomes: 'function hashOf(units: Uint16Array): number {}',
      reason: allNeedlesLookedFor,
    },
    ...['false', 'at >= needleMinUnits'].map((condition) => ({
      line: 'for (let at = 0; at < needleMinUnits; at++) hash = (Math.imul(hash, hashBase) + (units[at] ?? 0)) | 0',
      becomes: `for (let at = 0; ${condition}; at++) hash = (Math.imul(hash, hashBase) + (units[at] ?? 0)) | 0`,
      reason: allNeedlesLookedFor,
    })),
    {
      line: 'for (let at = 0; at < needleMinUnits; at++) hash = (Math.imul(hash, hashBase) + (units[at] ?? 0)) | 0',
      becomes:
        'for (let at = 0; at < needleMinUnits; at++) hash = (Math.imul(hash, hashBase) + (units[at] && 0)) | 0',
      reason: allNeedlesLookedFor,
    },
    {
      line: 'function slotOf(hash: number): number {',
      becomes: 'function slotOf(hash: number): number {}',
      reason: 'the sieve only spares the look into the table',
    },
  ]),
  ...inFile('packages/mesh/src/vault/handles.ts', [
    {
      line: "for (const found of text.matchAll(handle)) names.push(canonicalName(found[1] ?? ''))",
      becomes:
        'for (const found of text.matchAll(handle)) names.push(canonicalName(found[1] ?? "Stryker was here!"))',
      reason: 'a handle that was found has a name',
    },
  ]),
  ...inFile('packages/mesh/src/vault/host-pattern.ts', [
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
  ...inFile('packages/mesh/src/vault/scrub.ts', [
    ...[
      'if (false) return []',
      'if (needles.length === 0 && text.length < needleMinUnits) return []',
      'if (false || text.length < needleMinUnits) return []',
      'if (needles.length === 0 || false) return []',
    ].map((becomes) => ({
      line: 'if (needles.length === 0 || text.length < needleMinUnits) return []',
      becomes,
      reason: 'a short cut: nothing is found in what is too short, nor where there is nothing to find',
    })),
    {
      line: 'return needles[needle]?.isBase64 ?? false',
      becomes: 'return needles[needle].isBase64 ?? false',
      reason: 'only needles that are there are found',
    },
    {
      line: 'return needles[needle]?.isBase64 ?? false',
      becomes: 'return needles[needle]?.isBase64 ?? true',
      reason: 'only needles that are there are found',
    },
    {
      line: 'if (ranges.length === 0) return text',
      becomes: 'if (false) return text',
      reason: 'a short cut: a text of which nothing is taken out comes out the same the long way',
    },
    {
      line: 'if (to <= done) continue',
      becomes: 'if (to < done) continue',
      reason: 'what ends where all is done already adds nothing the long way either',
    },
  ]),
  ...inFile('packages/mesh/src/triggers/cron/cron-schedule.ts', [
    ...allSince('each of the five fields is looked at in its own list, so there is always one', [
      [
        "`${fieldNames[bad] ?? 'field'} \"${fields[bad] ?? ''}\" is not a list of numbers${bad > 2 ? ' or names' : ''}, ranges (1-5), * and steps (*/10, 1-30/5, 10/20)`,",
        "`${fieldNames[bad] ?? \"\"} \"${fields[bad] ?? ''}\" is not a list of numbers${bad > 2 ? ' or names' : ''}, ranges (1-5), * and steps (*/10, 1-30/5, 10/20)`,",
      ],
      [
        "`${fieldNames[bad] ?? 'field'} \"${fields[bad] ?? ''}\" is not a list of numbers${bad > 2 ? ' or names' : ''}, ranges (1-5), * and steps (*/10, 1-30/5, 10/20)`,",
        "`${fieldNames[bad] ?? 'field'} \"${fields[bad] ?? \"Stryker was here!\"}\" is not a list of numbers${bad > 2 ? ' or names' : ''}, ranges (1-5), * and steps (*/10, 1-30/5, 10/20)`,",
      ],
      [
        "return field.replaceAll(/(?<=^|,)(\\w+)\\//g, `$1-${lastValues[at] ?? ''}/`)",
        'return field.replaceAll(/(?<=^|,)(\\w+)\\//g, `$1-${lastValues[at] ?? "Stryker was here!"}/`)',
      ],
      [
        'const bad = fields.findIndex((field, at) => grammars[at]?.test(field) !== true)',
        'const bad = fields.findIndex((field, at) => grammars[at].test(field) !== true)',
      ],
    ]),
    ...allSince('where no count was read the next line but one refuses, whatever the unit', [
      [
        String.raw`const [, count = '', unit = ''] = /^every\s+(\d{1,9})\s*([smhd])$/i.exec(words) ?? []`,
        String.raw`const [, count = '', unit = "Stryker was here!"] = /^every\s+(\d{1,9})\s*([smhd])$/i.exec(words) ?? []`,
      ],
      [
        String.raw`const [, count = '', unit = ''] = /^every\s+(\d{1,9})\s*([smhd])$/i.exec(words) ?? []`,
        String.raw`const [, count = '', unit = ''] = /^every\s+(\d{1,9})\s*([smhd])$/i.exec(words) ?? ["Stryker was here"]`,
      ],
    ]),
    ...allSince('memory of a pure function: what is not kept is worked out again, and is the same', [
      [
        'if (readBefore.has(expression)) return { ok: true, schedule }',
        'if (false) return { ok: true, schedule }',
      ],
      ['if (readBefore.size >= readBeforeMax) readBefore.clear()', 'if (true) readBefore.clear()'],
      [
        'if (readBefore.size >= readBeforeMax) readBefore.clear()',
        'if (readBefore.size < readBeforeMax) readBefore.clear()',
      ],
      ['readBefore.add(expression)', ';'],
      ['if (known) {', 'if (false) {'],
      ['if (known) {', 'if (known) {}'],
      ['parsed.delete(key)', ';'],
      ['parsed.set(key, known)', ';'],
      ['parsed.set(key, cron)', ';'],
      [
        "if (parsed.size > parsedMax) parsed.delete(parsed.keys().next().value ?? '')",
        "if (true) parsed.delete(parsed.keys().next().value ?? '')",
      ],
      [
        "if (parsed.size > parsedMax) parsed.delete(parsed.keys().next().value ?? '')",
        "if (parsed.size >= parsedMax) parsed.delete(parsed.keys().next().value ?? '')",
      ],
      [
        "if (parsed.size > parsedMax) parsed.delete(parsed.keys().next().value ?? '')",
        "if (parsed.size <= parsedMax) parsed.delete(parsed.keys().next().value ?? '')",
      ],
      ['if (knownZones.has(name)) return true', 'if (false) return true'],
      ['if (knownZones.size >= knownZonesMax) knownZones.clear()', 'if (true) knownZones.clear()'],
      [
        'if (knownZones.size >= knownZonesMax) knownZones.clear()',
        'if (knownZones.size < knownZonesMax) knownZones.clear()',
      ],
      ['knownZones.add(name)', ';'],
    ]),
    {
      line: "return wrong(`\"${words}\": ${error instanceof Error ? error.message.replace(/^CronPattern: /, '') : 'no'}`)",
      becomes:
        "return wrong(`\"${words}\": ${error instanceof Error ? error.message.replace(/CronPattern: /, '') : 'no'}`)",
      reason: 'the library puts that word in first place and nowhere else',
    },
    ...allSince('a short cut: the search through local times, which is slower, finds the same', [
      ['): number | null {', '): number | null {}'],
      [
        'if (offsetMs % 60_000 !== 0 || zoneOffsetMs(timezone, after - changeReachMs) !== offsetMs) return null',
        'if (true) return null',
      ],
      ['if (found === null || found - after > quickReachMs) return null', 'if (true) return null'],
      [
        'if (found === null || found - after > quickReachMs) return null',
        'if (found === null || found - after >= quickReachMs) return null',
      ],
      ['return zoneOffsetMs(timezone, found) === offsetMs ? found : null', 'return false ? found : null'],
      ['const quickReachMs = 7 * 86_400_000', 'const quickReachMs = 7 / 86_400_000'],
    ]),
    {
      line: 'paused: true,',
      becomes: 'paused: false,',
      reason: 'a schedule without work to do never starts by itself',
    },
    ...allSince('whatever else the table of this machine takes is an offset, and no offset has a letter', [
      [
        'if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(name)) return false',
        'if (!/[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(name)) return false',
      ],
      [
        'if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(name)) return false',
        'if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,63}/.test(name)) return false',
      ],
    ]),
  ]),
  ...inFile('packages/mesh/src/triggers/cron/plan-dues.ts', [
    {
      line: 'if (own <= from || own > until) continue',
      becomes: 'if (own < from || own > until) continue',
      reason: 'what has its row at the very beginning leaves an empty stretch and the same beginning',
    },
  ]),
  ...inFile('packages/mesh/src/triggers/cron/zone-offset.ts', [
    ...allSince('a text without digits is the number nothing too', [
      [
        "const [, sign, hours = '0', minutes = '0', seconds = '0'] =",
        `const [, sign, hours = "", minutes = '0', seconds = '0'] =`,
      ],
      [
        "const [, sign, hours = '0', minutes = '0', seconds = '0'] =",
        `const [, sign, hours = '0', minutes = "", seconds = '0'] =`,
      ],
      [
        "const [, sign, hours = '0', minutes = '0', seconds = '0'] =",
        `const [, sign, hours = '0', minutes = '0', seconds = ""] =`,
      ],
    ]),
    ...allSince('there always is a name, and it always matches', [
      [
        String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(words ?? '') ?? []`,
        String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(words ?? "Stryker was here!") ?? []`,
      ],
      [
        String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(words ?? '') ?? []`,
        String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(words ?? '') ?? ["Stryker was here"]`,
      ],
    ]),
    ...allSince('a short cut: the clocks of UTC are told to be ahead by nothing', [
      ["if (timezone === 'UTC') return 0", 'if (false) return 0'],
      ["if (timezone === 'UTC') return 0", 'if (timezone === "") return 0'],
    ]),
    {
      line: 'const words = formatterOf(timezone)',
      becomes:
        "const words = formatterOf(timezone).formatToParts(at).find(part => part.type === 'timeZoneName').value",
      reason: 'a formatter that was asked for the name of a zone always says one',
    },
    ...allSince(
      'the name of an offset in this form is nothing but that, so that it always matches as a whole',
      [
        [
          String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(words ?? '') ?? []`,
          String.raw`/GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(words ?? '') ?? []`,
        ],
        [
          String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(words ?? '') ?? []`,
          String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?/.exec(words ?? '') ?? []`,
        ],
      ],
    ),
    {
      line: String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(words ?? '') ?? []`,
      becomes: String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)$/.exec(words ?? '') ?? []`,
      reason: 'an offset of nothing is told as GMT alone, and what does not match is nothing too',
    },
    ...allSince('memory of a pure function: what is not kept is worked out again, and is the same', [
      ['if (known) return known', 'if (false) return known'],
      ['if (formatters.size >= formattersMax) formatters.clear()', 'if (true) formatters.clear()'],
      [
        'if (formatters.size >= formattersMax) formatters.clear()',
        'if (formatters.size < formattersMax) formatters.clear()',
      ],
      ['formatters.set(timezone, made)', ';'],
    ]),
  ]),
  ...inFile('packages/mesh/src/triggers/heartbeat/probes.ts', [
    {
      line: 'if (diskUsedPercent !== null && diskUsedPercent > threshold) {',
      becomes: 'if (true && diskUsedPercent > threshold) {',
      reason: 'nothing is never more than the threshold',
    },
  ]),
  ...inFile('packages/protocol/src/sanitize-for-prompt.ts', [
    {
      line: String.raw`const plain = /^[\t\n\r\x20-\x7E]*$/`,
      becomes: String.raw`const plain = /^[\t\n\r\x20-\x7E]$/`,
      reason: 'a short cut: text that has nothing to take out comes out the same the long way',
    },
    {
      line: 'if (plain.test(text)) return text as PromptText',
      becomes: 'if (false) return text as PromptText',
      reason: 'the same short cut, not taken at all',
    },
  ]),
]

function inFile(file: string, entries: readonly Omit<Equivalent, 'file'>[]): readonly Equivalent[] {
  return entries.map((entry) => ({ file, ...entry }))
}

/** Several of one reason, each as its line and what becomes of it. */
function allSince(
  reason: string,
  changes: readonly (readonly [line: string, becomes: string])[],
): readonly Omit<Equivalent, 'file'>[] {
  return changes.map(([line, becomes]) => ({ line, becomes, reason }))
}
