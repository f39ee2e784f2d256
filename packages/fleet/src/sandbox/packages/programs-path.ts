/** Where programs look for other programs: those of packages never replace those of the agent image. */
export const programsPath = [
  '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  '/opt/flotilla/packages/npm/node_modules/.bin',
  '/opt/flotilla/packages/pip/bin',
  '/data/.local/bin',
].join(':')
