/**
 * What the demo means by permissive: one written list that the question contains, so that the fleet's count
 * and the check outside use the same terms. `BSD-*` means every SPDX id with that prefix.
 */
export const permissiveLicences = [
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-*',
  '0BSD',
  'Unlicense',
  'CC0-1.0',
  'BlueOak-1.0.0',
  'Python-2.0',
  'Zlib',
] as const

export const question = "Which licences do this project's dependencies carry, and which are not permissive?"

/** The question with all facts that an agent needs without knowing the project. */
export const questionWithDefinitions = [
  question,
  '',
  'The worker auditor has the real files in /data/input: package-lock.json, and licences.tar with the package.json and licence files of the installed packages, each below licences/<path without the leading node_modules/>/.',
  'A dependency is every entry of "packages" in the lock file whose path contains node_modules/ and that is not a link. Its licence is the license field of that entry; where that is missing, what its own package.json says, then what its licence file says, else unknown.',
  `Permissive are exactly these: ${permissiveLicences.join(', ')}. Everything else, unknown too, counts as not permissive; in an expression one permissive side of OR is enough, of AND all must be.`,
  'Name the number of dependencies, the number for each licence, and each licence that is not permissive with its number and packages. The worker saves report.md as an artifact and writes its summary to output/licences on the blackboard.',
].join('\n')
