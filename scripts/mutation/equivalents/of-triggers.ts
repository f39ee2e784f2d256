import { inFile, allSince } from './equivalent.ts'
import type { Equivalent } from './equivalent.ts'

export const equivalentsOfTriggers: readonly Equivalent[] = [
  ...inFile('packages/inbound/src/triggers/cron/cron-schedule.ts', [
    ...allSince('memory of a pure function: what is not kept is worked out again, and is the same', [
      ['if (known) {', 'if (false) {'],
      ['if (known) {', 'if (known) {}'],
      ['parsed.delete(expression)', ';'],
      ['parsed.set(expression, known)', ';'],
      ['parsed.set(expression, cron)', ';'],
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
    ]),
    {
      line: "const cron = new Cron(expression, { mode: '5-part', paused: true, utcOffset: 0 })",
      becomes: "const cron = new Cron(expression, { mode: '5-part', paused: false, utcOffset: 0 })",
      reason: 'a schedule without work to do never starts by itself',
    },
  ]),
  ...inFile('packages/inbound/src/triggers/cron/read-schedule.ts', [
    ...allSince('each of the five fields is read from its own list, so there is always one', [
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
        String.raw`const [, count = '', unit = ''] = /^every\s+(\d{1,9})\s*([smhd])$/i.exec(text) ?? []`,
        String.raw`const [, count = '', unit = "Stryker was here!"] = /^every\s+(\d{1,9})\s*([smhd])$/i.exec(text) ?? []`,
      ],
      [
        String.raw`const [, count = '', unit = ''] = /^every\s+(\d{1,9})\s*([smhd])$/i.exec(text) ?? []`,
        String.raw`const [, count = '', unit = ''] = /^every\s+(\d{1,9})\s*([smhd])$/i.exec(text) ?? ["Stryker was here"]`,
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
      ['if (knownZones.has(name)) return true', 'if (false) return true'],
      ['if (knownZones.size >= knownZonesMax) knownZones.clear()', 'if (true) knownZones.clear()'],
      [
        'if (knownZones.size >= knownZonesMax) knownZones.clear()',
        'if (knownZones.size < knownZonesMax) knownZones.clear()',
      ],
      ['knownZones.add(name)', ';'],
    ]),
    {
      line: "return wrong(`\"${text}\": ${error instanceof Error ? error.message.replace(/^CronPattern: /, '') : 'no'}`)",
      becomes:
        "return wrong(`\"${text}\": ${error instanceof Error ? error.message.replace(/CronPattern: /, '') : 'no'}`)",
      reason: 'the library puts that word in first place and nowhere else',
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
  ...inFile('packages/inbound/src/triggers/cron/plan-dues.ts', [
    {
      line: 'if (own <= from || own > until) continue',
      becomes: 'if (own < from || own > until) continue',
      reason: 'what has its row at the very beginning leaves an empty stretch and the same beginning',
    },
  ]),
  ...inFile('packages/inbound/src/triggers/cron/zone-offset.ts', [
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
        String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(offset ?? '') ?? []`,
        String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(offset ?? "Stryker was here!") ?? []`,
      ],
      [
        String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(offset ?? '') ?? []`,
        String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(offset ?? '') ?? ["Stryker was here"]`,
      ],
    ]),
    ...allSince('a short cut: the offset of UTC is zero', [
      ["if (timezone === 'UTC') return 0", 'if (false) return 0'],
      ["if (timezone === 'UTC') return 0", 'if (timezone === "") return 0'],
    ]),
    {
      line: 'const offset = formatterOf(timezone)',
      becomes:
        "const offset = formatterOf(timezone).formatToParts(at).find(part => part.type === 'timeZoneName').value",
      reason: 'a formatter that was asked for the name of a zone always says one',
    },
    ...allSince(
      'the name of an offset in this form is nothing but that, so that it always matches as a whole',
      [
        [
          String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(offset ?? '') ?? []`,
          String.raw`/GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(offset ?? '') ?? []`,
        ],
        [
          String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(offset ?? '') ?? []`,
          String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?/.exec(offset ?? '') ?? []`,
        ],
      ],
    ),
    {
      line: String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(offset ?? '') ?? []`,
      becomes: String.raw`/^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)$/.exec(offset ?? '') ?? []`,
      reason: 'an offset of zero is written as GMT alone, and a text that does not match is zero too',
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
  ...inFile('packages/inbound/src/triggers/heartbeat/probes.ts', [
    {
      line: 'if (diskUsedPercent !== null && diskUsedPercent > threshold) {',
      becomes: 'if (true && diskUsedPercent > threshold) {',
      reason: 'nothing is never more than the threshold',
    },
  ]),
]
