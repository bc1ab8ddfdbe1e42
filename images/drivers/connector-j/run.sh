#!/bin/sh
# A small machine that is up at once.
jars=/usr/share/java
exec java -Xmx160m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
  -cp ".:$jars/mariadb-java-client.jar:$jars/HikariCP.jar:$jars/slf4j-api.jar:$jars/slf4j-nop.jar" Program
