// Reports to a check of the installation when it is imported: server/tracker/src/onefold.check.js, which the build copies.
export {}
