// The logged-in person and their permissions.

import { api, Problem, setCsrf, type Me, type Role } from './api'

type Person = Me & { user: NonNullable<Me['user']> }

let me = $state.raw<Person | null | undefined>(undefined)

export const session = {
  get me() { return me },
  get known() { return me !== undefined },

  // role on a site. People without an account have none, and read only public and shared sites.
  role(site: string): Role | undefined {
    return me?.sites?.find((s) => s.id === site)?.role
  },
  // Sessions and checks need a role; public and shared views show statistics only.
  mayRead(site: string): boolean {
    return session.role(site) !== undefined
  },
  mayChange(site: string): boolean {
    const role = session.role(site)
    return role === 'owner' || role === 'admin'
  },

  async refresh() {
    try {
      const answer = await api.me()
      me = answer.user ? { ...answer, user: answer.user } : null
      setCsrf(answer.csrf ?? '')
    } catch (e) {
      if (e instanceof Problem && (e.status === 401 || e.status === 403 || e.status === 404)) me = null
      else throw e
    }
  },
  async logout(everywhere = false) {
    await api.logout(everywhere)
    me = null
    setCsrf('')
  },
}
