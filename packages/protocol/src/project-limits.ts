/** Plain values, so that an agent reads them without the schema library. */
export const projectLimits = {
  /** The maximum number of projects. */
  projectsMax: 200,
  /** The maximum number of agents in one project. */
  membersMax: 200,
  /** The maximum length of the goal of a project, in characters. */
  goalMaxChars: 2000,
  /** The maximum number of criteria of a project's goal. */
  criteriaMax: 10,
  /** The maximum length of one criterion of a project's goal, in characters. */
  criterionMaxChars: 200,
  /** The maximum number of sections of a project's text. */
  sectionsMax: 20,
  /** The maximum length of one section of a project's text, in characters. */
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
