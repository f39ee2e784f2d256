import { problemCatalog } from '@flotilla/protocol/problem-catalog'

/** docs/problems.md, made from the catalogue. */
export function problemDocs(): string {
  const rows = Object.entries(problemCatalog)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(
      ([code, kind]) =>
        `| \`${code}\` | ${kind.status} | ${kind.title} | ${kind.retryable ? 'yes' : 'no'} | ${kind.repair} |`,
    )
  return [
    '# Problems',
    '',
    'Generated from `packages/protocol/src/problem-catalog.ts` by `npm run docs`. Every error body is RFC 9457',
    '`application/problem+json` with `type` = `urn:flotilla:problem:<code>`, `title`, `status`, `detail`, `code`,',
    '`repair` and `request_id`. Codes never change meaning; treat an unknown one by its status.',
    '',
    '| code | status | title | try again later | repair |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
