import type { ProgramSetup } from '@flotilla/fleet/events'
import { keptBodyLimits } from '../asked/kept-body-table.ts'
import type { ProgramCredential } from '../../credentials/index.ts'

const gitName = 'gitconfig'
const npmName = 'npmrc'
const netrcName = 'netrc'

/**
 * Puts the placeholders of an agent's credentials where programs look for keys: variables, git's credential helper,
 * npm's configuration and a netrc file. All files are read-only in the container. Pure.
 */
export function placeholderFiles(credentials: readonly ProgramCredential[]): ProgramSetup {
  const environment: Record<string, string> = {}
  const git: string[] = []
  const npm: string[] = []
  const netrc: string[] = []
  for (const { placeholder, uses, origins } of credentials) {
    for (const use of uses) {
      if (use.kind === 'env') environment[use.variable] = placeholder
      for (const origin of origins) {
        const { host, hostname } = new URL(origin)
        if (use.kind === 'git') git.push(helperFor(origin, use.user, placeholder))
        if (use.kind === 'npm') npm.push(`//${host}/:_authToken=${placeholder}`)
        if (use.kind === 'netrc') netrc.push(`machine ${hostname} login ${use.user} password ${placeholder}`)
      }
    }
  }
  const files: Record<string, string> = {}
  if (git.length > 0) {
    files[gitName] = [wholePushes, ...git].join('')
    environment['GIT_CONFIG_SYSTEM'] = `/briefing/${gitName}`
  }
  if (npm.length > 0) {
    // This file replaces the one of the image, which names the list of certificate authorities.
    files[npmName] = ['cafile=/briefing/ca-bundle.pem', ...npm, ''].join('\n')
    environment['NPM_CONFIG_GLOBALCONFIG'] = `/briefing/${npmName}`
  }
  if (netrc.length > 0) {
    files[netrcName] = [...netrc, ''].join('\n')
    environment['NETRC'] = `/briefing/${netrcName}`
  }
  return { environment, files }
}

/** Makes git send a push as a whole as far as it can be kept for a person: parts of it would be kept alone. */
const wholePushes = `[http]\n\tpostBuffer = ${keptBodyLimits.oneMaxBytes}\n`

/** A helper that only answers; git also tells helpers to store or erase, and there is nothing to change. */
function helperFor(origin: string, user: string, placeholder: string): string {
  const answer = `echo username=${user}; echo password=${placeholder}`
  return `[credential "${origin}"]\n\thelper =\n\thelper = "!f() { test \\"$1\\" = get && { ${answer}; }; }; f"\n`
}
