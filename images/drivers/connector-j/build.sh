#!/bin/sh
# Eclipse's compiler: the JDK is a download a hundred times as large.
exec java -cp /usr/share/java/eclipse-jdt-core-compiler-batch.jar org.eclipse.jdt.internal.compiler.batch.Main \
  -17 -proc:none -cp /usr/share/java/mariadb-java-client.jar:/usr/share/java/HikariCP.jar -d . Program.java
