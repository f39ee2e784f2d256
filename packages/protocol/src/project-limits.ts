/** Plain values, so that an agent reads them without the schema library. */
export const projectLimits = {
  projectsMax: 200,
  membersMax: 200,
  goalMaxChars: 2000,
  criteriaMax: 10,
  criterionMaxChars: 200,
  sectionsMax: 20,
  sectionMaxChars: 8000,
} as const

export const manageProjectActions = [
  'create',
  'archive',
  'unarchive',
  'add_members',
  'remove_members',
] as const
export type ManageProjectAction = (typeof manageProjectActions)[number]

/** What each action does, for tools and help. */
export const manageProjectWords: Readonly<Record<ManageProjectAction, string>> = {
  create: 'makes it, with those agents as its members',
  archive: 'puts it away: what it has can be read, and nothing is added',
  unarchive: 'takes it back',
  add_members: 'lets those agents in; an agent belongs to one project at a time',
  remove_members: 'takes those agents out',
}
